package openapi

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// keyProblem marks an example that is a problem; its value is the code.
const keyProblem = "$problem"

// fillProblems completes each mapping that has keyProblem: it adds the type, title and
// status of the code, and keeps the other members.
func fillProblems(root *yaml.Node, baseURL string) error {
	var fault error
	walk(root, func(n *yaml.Node) {
		code := httpapi.Code(text(n, keyProblem))
		if code == "" {
			return
		}
		if !slices.Contains(httpapi.Codes(), code) {
			fault = fmt.Errorf("line %d: there is no problem code %q", n.Line, code)
			return
		}
		whole := newMapping()
		put(whole, "type", newText(baseURL+"/docs/errors/"+string(code)))
		put(whole, "title", newText(code.Title()))
		put(whole, "status", newScalar(tagInteger, strconv.Itoa(code.Status())))
		put(whole, "detail", newText(text(n, "detail")))
		put(whole, "code", newText(string(code)))
		for name, value := range members(n) {
			if name != keyProblem {
				put(whole, name, value)
			}
		}
		n.Content = whole.Content
	})
	return fault
}
