package discovery

import (
	"slices"
	"strings"

	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// request is an HTTP request to show.
type request struct {
	sandbox.Request

	// Bearer is set if the request needs a token. The command takes it from the environment.
	Bearer bool
}

// tokenVariable is the environment variable from which examples take the token.
const tokenVariable = "$KITH_TOKEN"

// curl returns the request as a command for a POSIX shell, one argument on each line.
func (q request) curl(baseURL string) string {
	words := append([]string{"curl -sS " + sandbox.ShellQuote(baseURL+q.Path)}, q.CurlArguments()...)
	if q.Bearer {
		after := 1
		if q.Accept != "" {
			after = 2
		}
		words = slices.Insert(words, after, `-H "Authorization: Bearer `+tokenVariable+`"`)
	}
	return strings.Join(words, " \\\n  ")
}
