package e2e

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"
)

// secretList holds everything that no log may ever show: tokens, passwords and
// what members wrote. It is shared by all tests, so that each process is searched
// for the secrets of all tests that ran so far.
type secretList struct {
	mu     sync.Mutex
	values map[string]string // to what it is
}

var secrets = &secretList{values: map[string]string{}}

// keep registers a value and returns it.
func (l *secretList) keep(kind, value string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[value] = kind
	return value
}

// text returns a sentence that occurs nowhere else, registered as a secret.
func (l *secretList) text(kind string) string {
	return l.keep(kind, "likes "+rand.Text()+" a lot")
}

// leak returns the first line of the text that shows a secret, and what it shows.
func (l *secretList) leak(text string) (kind, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for value, kind := range l.values {
		if before, after, found := strings.Cut(text, value); found {
			start := strings.LastIndexByte(before, '\n') + 1
			end, _, _ := strings.Cut(after, "\n")
			return kind, before[start:] + value + end
		}
	}
	return "", ""
}

// mustNotBeIn fails the test if a secret occurs in the text.
func (l *secretList) mustNotBeIn(t *testing.T, where, text string) {
	t.Helper()
	if kind, line := l.leak(text); kind != "" {
		t.Errorf("%s shows a %s: %s", where, kind, line)
	}
}

func TestLeaksAreFound(t *testing.T) {
	t.Parallel()
	list := &secretList{values: map[string]string{}}
	note := list.text("note")
	if kind, line := list.leak("one\ntwo " + note + "!\nthree\n"); kind != "note" || line != "two "+note+"!" {
		t.Errorf("got %q %q", kind, line)
	}
	if kind, _ := list.leak("one\ntwo\n"); kind != "" {
		t.Errorf("got %q", kind)
	}
}
