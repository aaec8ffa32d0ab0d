package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// door is a path that takes keys, with a caller who may do something there.
type door struct {
	service *service
	path    string
	bearer  string // "" for none
	status  int    // of an answer that is kept
	// does returns the body of a request that does something with the word.
	does func(word string) string
}

// doors are all paths that take keys. The member's are two doors of one house.
func (s *service) doors(t *testing.T, a agent) []door {
	t.Helper()
	create := func(word string) string { return toolCall(t, "create_connection", arguments{"name": word}) }
	search := func(word string) string { return toolCall(t, "search_connections", arguments{"query": word}) }
	register := func(word string) string {
		return encode(t, arguments{"client_name": word, "redirect_uris": []string{"https://" + word + ".example/callback"}})
	}
	return []door{
		{s, pathCurrent, a.bearer, http.StatusOK, create},
		{s, pathDeprecated, a.bearer, http.StatusOK, create},
		{s, pathSandbox, "", http.StatusOK, search},
		{s, pathSandboxOld, "", http.StatusOK, search},
		{s, pathRegister, "", http.StatusCreated, register},
	}
}

const pathRegister = "/oauth/register"

// keyLine is the header line of a key.
func keyLine(key string) string { return "Idempotency-Key: " + key }

// send sends a body through a bare socket, with header lines as they are: a client
// library would tidy them up.
func (d door) send(t *testing.T, body string, lines ...string) answer {
	t.Helper()
	return d.service.sendRaw(t, d.request(body, lines...))
}

func (d door) request(body string, lines ...string) string {
	head := []string{"POST " + d.path + " HTTP/1.1", "Host: localhost", "Connection: close", fmt.Sprint("Content-Length: ", len(body))}
	if d.bearer != "" {
		head = append(head, "Authorization: Bearer "+d.bearer)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "Content-Type") {
		head = append(head, jsonType)
	}
	return strings.Join(append(head, lines...), "\r\n") + "\r\n\r\n" + body
}

// isKept wants the answer to a request that did something, now or once.
func (d door) isKept(t *testing.T, what string, got answer, replayed bool) {
	t.Helper()
	want := ""
	if replayed {
		want = "true"
	}
	if mark := strings.Join(got.header.Values("Idempotency-Replayed"), ","); got.status != d.status || mark != want {
		t.Errorf("%s, %s: got %d, replayed %q, want %d and %q: %s", d.path, what, got.status, mark, d.status, want, excerpt(got.body))
	}
}

// newWord returns a word that nobody has used.
func newWord() string { return strings.ToLower(rand.Text()) }
