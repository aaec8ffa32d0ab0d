package harness

import (
	"crypto/rand"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// secretList holds everything that no log and no span may ever show: tokens,
// passwords, names of members, their addresses and what they wrote. It is shared by
// all tests, so that each process is searched for the secrets of all tests that ran
// so far.
type secretList struct {
	mu     sync.Mutex
	values map[string]string             // value to its kind
	heads  map[[headLength]byte][]string // values by their first bytes
}

// headLength is the length of the prefix that values are looked up by. Shorter values are
// not kept: they could occur as ordinary words.
const headLength = 8

var Secrets = newSecretList()

func newSecretList() *secretList {
	return &secretList{values: map[string]string{}, heads: map[[headLength]byte][]string{}}
}

// Keep registers a value and returns it. Its JSON-escaped form is found too.
func (l *secretList) Keep(kind, value string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	escaped, _ := json.Marshal(value) // a string can be
	for _, form := range []string{value, string(escaped[1 : len(escaped)-1])} {
		if _, known := l.values[form]; known || len(form) < headLength {
			continue
		}
		l.values[form] = kind
		head := [headLength]byte([]byte(form[:headLength]))
		l.heads[head] = append(l.heads[head], form)
	}
	return value
}

// KeepFile keeps the secrets that a Node.js program met, which are lines of a kind and a value.
func (l *secretList) KeepFile(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the program met no secret: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		kind, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		l.Keep(kind, value)
	}
}

// personal are the request fields with private data.
func personal(field string) bool {
	switch field {
	case "body", "text", "summary", "bio", "met_how", "notes", "note", "description",
		"email", "emails", "add_emails", "phone", "phones", "add_phones", "password", "new_password":
		return true
	default:
		return false
	}
}

// ordinary reports whether a text may be in a log by chance.
func ordinary(text string) bool { return len(text) < 16 && !strings.ContainsAny(text, "@ +0123456789") }

// maxSearched bounds the bodies of requests that are searched for private data.
const maxSearched = 64 << 10

// keepBody registers the private data in a request body, in JSON or in a form.
func (l *secretList) keepBody(body string) {
	var message any
	if len(body) > maxSearched {
		return
	}
	if json.Unmarshal([]byte(body), &message) == nil {
		l.keepFields("", message)
		return
	}
	if form, err := url.ParseQuery(body); err == nil {
		for field, values := range form {
			for _, value := range values {
				l.keepFields(field, value)
			}
		}
	}
}

func (l *secretList) keepFields(field string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			l.keepFields(name, inner)
		}
	case []any:
		for _, inner := range v {
			l.keepFields(field, inner)
		}
	case string:
		if personal(field) && !ordinary(v) {
			l.Keep(field, v)
		}
	}
}

// Text returns a sentence that occurs nowhere else, registered as a secret.
func (l *secretList) Text(kind string) string {
	return l.Keep(kind, "likes "+rand.Text()+" a lot")
}

// leak returns the first line of the text that contains a secret, and the secret's kind.
func (l *secretList) leak(text string) (kind, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range len(text) - headLength + 1 {
		for _, value := range l.heads[[headLength]byte([]byte(text[at:at+headLength]))] {
			if strings.HasPrefix(text[at:], value) {
				start := strings.LastIndexByte(text[:at], '\n') + 1
				end, _, _ := strings.Cut(text[at+len(value):], "\n")
				return l.values[value], text[start:at+len(value)] + end
			}
		}
	}
	return "", ""
}

// MustNotBeIn fails the test if a secret is in the text.
func (l *secretList) MustNotBeIn(t testing.TB, where, text string) {
	t.Helper()
	if kind, line := l.leak(text); kind != "" {
		t.Errorf("%s shows a %s: %s", where, kind, line)
	}
}
