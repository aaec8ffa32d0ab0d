package discovery

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// exampleFile has the arguments of the example of each tool.
//
//go:embed examples.json
var exampleFile []byte

// exampleConnection is the connection in exampleFile. A connection of the demo account takes its place
// if a ready-made request names one, so that examples work there.
const exampleConnection = "con_qo604yg551"

var connectionID = regexp.MustCompile(`con_\w+`)

// exampleArguments returns the arguments in the examples, by tool: those of a ready-made request if
// there is one, else those of exampleFile.
func (s *site) exampleArguments() (map[string]jsontext.Value, error) {
	var examples map[string]jsontext.Value
	if err := json.Unmarshal(exampleFile, &examples); err != nil {
		return nil, fmt.Errorf("read examples: %w", err)
	}
	ready, connection := map[string]jsontext.Value{}, []byte(nil)
	for _, q := range s.Requests {
		call, ok := toolCall(q)
		if !ok {
			continue
		}
		if ready[call.Name] == nil {
			ready[call.Name] = call.Arguments
		}
		if connection == nil {
			connection = connectionID.Find(call.Arguments)
		}
	}
	if connection != nil {
		for tool, arguments := range examples {
			examples[tool] = bytes.ReplaceAll(arguments, []byte(exampleConnection), connection)
		}
	}
	maps.Copy(examples, ready)
	return examples, nil
}

// exampleOf returns the call of a tool with the arguments: on the demo account if
// the tool only reads and there is one, else on the caller's own data. The demo account has no jobs.
func (s *site) exampleOf(rpc *catalog.RPC, arguments jsontext.Value) (request, error) {
	if arguments == nil {
		return request{}, errors.New("examples.json has no example")
	}
	body, err := json.Marshal(newCall(rpc.Tool.Name, arguments))
	q := request{Request: sandbox.Request{Method: http.MethodPost, Path: route.PathMCPCurrent, Body: string(body)}, Bearer: true}
	if !rpc.Writes && rpc.Tool.Name != "get_job" && s.serves(route.PathMCPSandbox) {
		q.Path, q.Bearer = route.PathMCPSandbox, false
	}
	return q, err
}
