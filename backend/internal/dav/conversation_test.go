package dav_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/*.txt")

// betweenExchanges separates two exchanges of a conversation, betweenBoth a request and its answer.
const (
	betweenExchanges = "\n----\n"
	betweenBoth      = "\n=>\n"
)

var (
	etags   = regexp.MustCompile(`"[0-9a-f]{8,}"|&#34;[0-9a-f]{8,}&#34;`)
	revised = regexp.MustCompile(`REV:\w+`)
	tokens  = regexp.MustCompile(`<d:sync-token>([^<]+)`)
	ctags   = regexp.MustCompile(`<cs:getctag>([^<]+)`)
)

// names gives each value that differs from run to run a name, in the order in which they appear.
type names struct{ values []string }

func (n *names) hide(text, kind string, found *regexp.Regexp, group int) string {
	for _, m := range found.FindAllStringSubmatch(text, -1) {
		value := strings.ReplaceAll(m[group], "&#34;", `"`)
		if !slices.Contains(n.values, value) {
			n.values = append(n.values, value)
		}
		text = strings.ReplaceAll(text, m[group], fmt.Sprintf("{%s %d}", kind, 1+slices.Index(n.values, value)))
	}
	return text
}

// show puts the values into a request that has their names.
func (n *names) show(text, kind string) string {
	for i, value := range n.values {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%s %d}", kind, i+1), value)
	}
	return text
}

// TestConversations plays what clients send, from the requests that they are documented and logged to make, and compares the answers.
// The files have a request, the answer, the next request, and so on; -update writes the answers.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			each(t, func(s *site) { s.converse(file, string(text)) })
		})
	}
}

func (s *site) converse(file, text string) {
	s.Helper()
	d, feed := s.device(false), s.feedOf(s.owner, "Dates")
	var versions, states, sums names
	var played []string
	for exchange := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), betweenExchanges) {
		request, _, _ := strings.Cut(exchange, betweenBoth)
		a := d.ask(strings.ReplaceAll(states.show(versions.show(request, "etag"), "token"), "{feed}", feed))
		head := []string{fmt.Sprint(a.status)}
		for _, name := range []string{"DAV", "Allow", "WWW-Authenticate", "Location", "Content-Type", "ETag"} {
			if value := a.header.Get(name); value != "" {
				head = append(head, name+": "+value)
			}
		}
		answer := strings.Join(head, "\n")
		if a.body != "" {
			answer += "\n\n" + strings.ReplaceAll(strings.ReplaceAll(a.body, "\r\n", "\n"), "><", ">\n<")
		}
		answer = strings.ReplaceAll(answer, feed, "{feed}")
		answer = revised.ReplaceAllString(answer, "REV:{time}")
		answer = sums.hide(states.hide(versions.hide(answer, "etag", etags, 0), "token", tokens, 1), "ctag", ctags, 1)
		played = append(played, request+betweenBoth+strings.TrimSuffix(answer, "\n"))
	}
	got := strings.Join(played, betweenExchanges) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			s.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(text, got); diff != "" {
		s.Errorf("-file +server\n%s", diff)
	}
}

// ask sends a request as a file has it: a line with the method and the path, the headers, an empty line, and the body. "Authorization: none"
// leaves the password out.
func (d device) ask(request string) answer {
	d.Helper()
	for strings.HasPrefix(request, "#") { // comments
		_, request, _ = strings.Cut(request, "\n")
	}
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(head, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	var headers []string
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if line == "Authorization: none" {
			value = ""
		}
		headers = append(headers, name, value)
	}
	if strings.HasPrefix(body, "BEGIN:VCARD") {
		body = strings.ReplaceAll(body, "\n", "\r\n") + "\r\n"
	}
	return d.send(method, path, body, headers...)
}
