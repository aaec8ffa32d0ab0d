package discovery

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

// family are the errors of one protocol.
type family struct {
	ID, Title, Intro string
	Errors           []errorPage
}

// errorPage is the documentation of one error code.
type errorPage struct {
	Family *family
	// Code is the last part of the page's path.
	Code string
	// Title names the error in a few words, Status is its HTTP status.
	Title, Status string
	// Meaning says when it happens, Action what to do. Both are Markdown.
	Meaning, Action string
	// Example is an answer with the code, as a fenced code block.
	Example string
}

// Families returns every error that has a page, by its protocol.
func (s *site) Families() ([]*family, error) {
	families := []*family{{ID: "http-api", Title: "HTTP API"}, {ID: "mcp", Title: "MCP"}}
	if s.OAuth() {
		families = append(families, &family{ID: "oauth", Title: "OAuth"})
	}
	for _, f := range families {
		file := "errors-" + strings.TrimSuffix(f.ID, "-api") + ".md"
		text, err := s.page(file, nil)
		if err == nil {
			err = f.parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		for i := range f.Errors {
			s.complete(&f.Errors[i])
		}
	}
	return families, nil
}

// errorTitles returns the titles of all errors, by their codes.
func (s *site) errorTitles() (map[string]string, error) {
	families, err := s.Families()
	titles := map[string]string{}
	for _, f := range families {
		for _, e := range f.Errors {
			if titles[e.Code] != "" {
				return nil, fmt.Errorf("the error %s is defined twice", e.Code)
			}
			titles[e.Code] = e.Title
		}
	}
	return titles, err
}

// parse reads a file of errors: an introduction, then a section for each code, with
// paragraphs for the status, the meaning, the action and the example. The first and
// the last may be missing.
func (f *family) parse(text string) error {
	intro, sections, _ := strings.Cut(text, "\n\n## ")
	f.Intro = intro
	for section := range strings.SplitSeq(sections, "\n\n## ") {
		paragraphs := strings.SplitN(strings.TrimSpace(section), "\n\n", 5)
		e := errorPage{Family: f}
		e.Code, e.Title, _ = strings.Cut(paragraphs[0], ": ")
		paragraphs = paragraphs[1:]
		if len(paragraphs) > 0 && strings.HasPrefix(paragraphs[0], "Status: ") {
			e.Status, paragraphs = strings.TrimPrefix(paragraphs[0], "Status: "), paragraphs[1:]
		}
		if len(paragraphs) < 2 {
			return fmt.Errorf("%s needs a meaning and an action", e.Code)
		}
		e.Meaning, e.Action, e.Example = paragraphs[0], paragraphs[1], strings.Join(paragraphs[2:], "\n\n")
		f.Errors = append(f.Errors, e)
	}
	return nil
}

// complete adds what the file does not say: title, status and example of a problem, and
// the body of an OAuth error.
func (s *site) complete(e *errorPage) {
	switch {
	case e.Title == "":
		code := httpapi.Code(e.Code)
		e.Title, e.Status = code.Title(), strconv.Itoa(code.Status())+" "+http.StatusText(code.Status())
		e.Example = "```json\n" + problemExample(s.Problems, code) + "\n```"
	case e.Example == "":
		e.Example = "```json\n{\n  \"error\": \"" + e.Code + "\",\n  \"error_description\": \"" + e.Title + ".\"\n}\n```"
	}
}

// problemExample returns the body that the problem writer writes for the code, indented.
func problemExample(problems *httpapi.Problems, code httpapi.Code) string {
	w := &bodyRecorder{header: http.Header{}}
	problems.Write(w, &http.Request{Method: http.MethodGet}, code, "What this is about, in one sentence.")
	text, err := indented(w.body.Bytes())
	if err != nil {
		return ""
	}
	return text
}

// indented returns JSON with line breaks.
func indented(text []byte) (string, error) {
	body := jsontext.Value(text)
	err := body.Indent(jsontext.WithIndent("  "))
	return string(body), err
}

// bodyRecorder keeps the body of an answer.
type bodyRecorder struct {
	header http.Header
	body   bytes.Buffer
}

func (w *bodyRecorder) Header() http.Header         { return w.header }
func (w *bodyRecorder) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *bodyRecorder) WriteHeader(int)             {}
