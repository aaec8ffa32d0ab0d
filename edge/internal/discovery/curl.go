package discovery

import (
	"net/http"
	"strings"
)

// request is an HTTP request to show.
type request struct {
	Method string
	Path   string // with its query
	Accept string // "" leaves the header out
	Body   string // JSON; "" for none
	// Bearer is set if the request needs a token. The command takes it from the environment.
	Bearer bool
}

// tokenVariable is the environment variable from which examples take the token.
const tokenVariable = "$KITH_TOKEN"

// curl returns the request as a command for a POSIX shell, one argument on each line.
func (q request) curl(baseURL string) string {
	words := []string{"curl -sS " + shellQuote(baseURL+q.Path)}
	if q.Accept != "" {
		words = append(words, "-H "+shellQuote("Accept: "+q.Accept))
	}
	if q.Bearer {
		words = append(words, `-H "Authorization: Bearer `+tokenVariable+`"`)
	}
	implied := http.MethodGet
	if q.Body != "" {
		implied = http.MethodPost
		words = append(words, "-H "+shellQuote("Content-Type: application/json"), "-d "+shellQuote(q.Body))
	}
	if q.Method != implied {
		words = append(words, "-X "+q.Method)
	}
	return strings.Join(words, " \\\n  ")
}

// shellQuote quotes text as one word of a POSIX shell (section 2.2.2).
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
