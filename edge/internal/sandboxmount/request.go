package sandboxmount

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Request is a ready-made request for visitors.
type Request struct {
	Title  string
	Method string
	// Path is relative to the base URL, with its query.
	Path string
	// Body is the JSON to send as application/json; "" for none.
	Body string
	// Accept is the value of the Accept header; "" leaves it out.
	Accept string
}

func (r Request) describe(baseURL string) tryJSON {
	try := tryJSON{Title: r.Title, Method: r.Method, Path: r.Path, Curl: r.curl(baseURL)}
	if r.Body != "" {
		try.Body = jsontext.Value(r.Body)
	}
	return try
}

// curl returns the request as one line for a POSIX shell.
func (r Request) curl(baseURL string) string {
	words := []string{"curl", "-sS"}
	if r.Accept != "" {
		words = append(words, "-H", shellQuote("Accept: "+r.Accept))
	}
	implied := http.MethodGet
	if r.Body != "" {
		implied = http.MethodPost
		words = append(words, "-H", shellQuote("Content-Type: application/json"), "-d", shellQuote(r.Body))
	}
	if r.Method != implied {
		words = append(words, "-X", r.Method)
	}
	return strings.Join(append(words, shellQuote(baseURL+r.Path)), " ")
}

// shellQuote makes one word of a POSIX shell (section 2.2.2).
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
