package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestConversations replays the scripts in testdata. Each is a description, then pairs of
// sections "N.request" and "N.response". A section "N.backend" before a pair sets the
// backend's state: down, up or unseeded. Requests have a JSON media type by default.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Error("the script has no description")
			}
			played := play(t, newEdge(t), archive)
			if *update {
				if err := os.WriteFile(file, txtar.Format(played), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(played))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// play returns the script with the actual answers.
func play(t *testing.T, e *edge, script *txtar.Archive) *txtar.Archive {
	t.Helper()
	played := &txtar.Archive{Comment: script.Comment}
	for _, section := range script.Files {
		number, part, _ := strings.Cut(section.Name, ".")
		switch part {
		case "backend":
			played.Files = append(played.Files, section)
			direct(t, e, strings.TrimSpace(string(section.Data)))
		case "request":
			answer := send(t, e, string(section.Data))
			played.Files = append(played.Files, section, txtar.File{Name: number + ".response", Data: answer})
		case "response":
		default:
			t.Fatalf("section %q is not known", section.Name)
		}
	}
	return played
}

func direct(t *testing.T, e *edge, order string) {
	t.Helper()
	switch order {
	case "down":
		e.backend.Fail(errors.New("connection refused"))
	case "up":
		e.backend.Fail(nil)
	case "unseeded":
		e.backend.Unseeded = true
	default:
		t.Fatalf("order %q is not known", order)
	}
}

func send(t *testing.T, handler http.Handler, text string) []byte {
	t.Helper()
	line, rest, _ := strings.Cut(text, "\n")
	method, target, ok := strings.Cut(line, " ")
	if !ok {
		t.Fatalf("request line %q", line)
	}
	head, body, _ := strings.Cut("\n"+rest, "\n\n")
	header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimPrefix(head, "\n") + "\n\n"))).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, strings.NewReader(strings.TrimSuffix(body, "\n")))
	r.Header = http.Header(header)
	if _, said := header["Content-Type"]; !said {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return render(t, w)
}

// render writes the status, the relevant headers, and the body.
func render(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, w.Code)
	for _, name := range []string{
		"Allow", "Content-Type", "Deprecation", "Link", "Mcp-Session-Id", "Retry-After", "Sunset", "Www-Authenticate",
	} {
		for _, line := range w.Header()[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, line)
		}
	}
	body := requestID.ReplaceAllString(shorten(t, w.Body.Bytes()), "req_ID")
	if body != "" {
		b.WriteString("\n" + body + "\n")
	}
	return []byte(b.String())
}

var requestID = regexp.MustCompile(`req_[A-Za-z0-9_-]{20}`)

// shorten leaves only the names and _meta of listed tools; the golden files of the tools have
// the rest. Other bodies are unchanged.
func shorten(t *testing.T, body []byte) string {
	t.Helper()
	var list struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Result  struct {
			Tools []struct {
				Name string          `json:"name"`
				Meta json.RawMessage `json:"_meta"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Result.Tools == nil {
		return string(body)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `{"name"`, "\n  {\"name\"")
}

// The pairs of every conversation must be numbered in order.
func TestConversationsAreInOrder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []string
		for _, section := range archive.Files {
			if number, part, _ := strings.Cut(section.Name, "."); part == "request" {
				numbers = append(numbers, fmt.Sprintf("%03s", number))
			}
		}
		if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
			t.Errorf("%s: sections %v", file, numbers)
		}
	}
}
