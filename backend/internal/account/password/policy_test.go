package password_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/fault"
	"pgregory.net/rapid"
)

func sha(s string) string { return fmt.Sprintf("%X", sha1.Sum([]byte(s))) }

// write writes a file of hashes, and returns its path.
func write(t interface {
	Helper()
	Fatal(args ...any)
}, folder, content string) string {
	t.Helper()
	path := filepath.Join(folder, "hashes.txt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func policyOf(t *testing.T, c password.PolicyConfig) *password.Policy {
	t.Helper()
	p, err := password.NewPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A password of the list is refused with a sentence that says why; others are not. Without a list,
// the policy is Check.
func TestPolicy(t *testing.T) {
	t.Parallel()
	const stolen, other = "violet kettle drum", "harbour lantern oak"
	path := write(t, t.TempDir(), sha(stolen)+":17\r\n")
	p := policyOf(t, password.PolicyConfig{File: path})
	if err := p.Check(t.Context(), stolen); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "stolen") {
		t.Errorf("a stolen one: %v", err)
	}
	if err := p.Check(t.Context(), other); err != nil {
		t.Errorf("another one: %v", err)
	}
	for _, p := range []*password.Policy{nil, policyOf(t, password.PolicyConfig{}), p} {
		if err := p.Check(t.Context(), "short"); !fault.Is(err, fault.Invalid) {
			t.Errorf("a short one: %v", err)
		}
		if err := p.Check(t.Context(), "maria at the harbour", "maria"); !fault.Is(err, fault.Invalid) {
			t.Errorf("one with a name: %v", err)
		}
	}
	if err := (*password.Policy)(nil).Check(t.Context(), stolen); err != nil {
		t.Errorf("without a list: %v", err)
	}
}

// All hashes of a file and no others are found, for every line length and line ending.
func TestBreachedFileFindsEach(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{4} [a-z]{4} [a-z]{4}`), 1, 60, rapid.ID).Draw(t, "words")
		out := words[len(words)/2:]
		in := words[:len(words)/2+1]
		out = slices.DeleteFunc(slices.Clone(out), func(s string) bool { return slices.Contains(in, s) })
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var lines []string
		for _, word := range in {
			line := sha(word)
			if rapid.Bool().Draw(t, "lower") {
				line = strings.ToLower(line)
			}
			if n := rapid.IntRange(-1, 30_000_000).Draw(t, "count"); n >= 0 {
				line += fmt.Sprintf(":%d", n)
			}
			lines = append(lines, line)
		}
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
		content := strings.Join(lines, end)
		if rapid.Bool().Draw(t, "ended") {
			content += end
		}
		p, err := password.NewPolicy(password.PolicyConfig{File: write(t, folder, content)})
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range in {
			if err := p.Check(context.Background(), word); !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q is not found in\n%s", word, content)
			}
		}
		for _, word := range out {
			if err := p.Check(context.Background(), word); err != nil && strings.Contains(err.Error(), "stolen") {
				t.Fatalf("%q is found in\n%s", word, content)
			}
		}
	})
}

// A file that is no such list is refused at the start, and not at the first sign-up.
func TestBreachedFileIsChecked(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("A", 40), strings.Repeat("B", 40)
	for name, content := range map[string]string{
		"empty": "", "passwords": "hunter2\npassword\n", "other hashes": strings.Repeat("A", 32) + ":1\n", "longer hashes": strings.Repeat("A", 64) + "\n",
		"another order": b + ":1\n" + a + ":1\n", "no separator": a + " 1\n", "no hexadecimal digits": strings.Repeat("G", 40) + "\n",
		"no lines": strings.Repeat("A", 500), "a broken end": a + ":1\nhello\n", "white space": "\n\n",
	} {
		if _, err := password.NewPolicy(password.PolicyConfig{File: write(t, t.TempDir(), content)}); err == nil || !strings.Contains(err.Error(), "40 hexadecimal digits") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := password.NewPolicy(password.PolicyConfig{File: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing file is opened")
	}
}

// The API learns five digits of the hash. It is asked once for each password that is otherwise
// good; a padding entry is not a match.
func TestBreachedAPI(t *testing.T) {
	t.Parallel()
	const stolen, padded = "violet kettle drum", "harbour lantern oak"
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.Header.Get("Add-Padding") != "true" || r.Header.Get("User-Agent") != "kith" {
			t.Errorf("headers: %v", r.Header)
		}
		for password, count := range map[string]string{stolen: "3", padded: "0", "some other one": "5"} {
			_, _ = fmt.Fprintf(w, "%s:%s\r\n", sha(password)[5:], count)
		}
	}))
	defer api.Close()
	p := policyOf(t, password.PolicyConfig{URL: api.URL + "/range"})
	if err := p.Check(t.Context(), stolen); !fault.Is(err, fault.Invalid) {
		t.Errorf("a stolen one: %v", err)
	}
	for _, good := range []string{padded, "quiet copper bridge"} {
		if err := p.Check(t.Context(), good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if err := p.Check(t.Context(), "short"); err == nil {
		t.Error("a short one is good")
	}
	if want := []string{"/range/" + sha(stolen)[:5], "/range/" + sha(padded)[:5], "/range/" + sha("quiet copper bridge")[:5]}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v", asked)
	}
}

// A list that cannot be read refuses nothing, and a warning without the password or its hash says so.
func TestBreachedListsFailOpen(t *testing.T) {
	t.Parallel()
	const chosen = "violet kettle drum"
	held := make(chan struct{})
	broken := http.NewServeMux()
	broken.HandleFunc("/slow/", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	broken.HandleFunc("/error/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	broken.HandleFunc("/elsewhere/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/error/", http.StatusFound) })
	server := httptest.NewServer(broken)
	defer server.Close()
	defer close(held)
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, address := range []string{server.URL + "/slow", server.URL + "/error", server.URL + "/elsewhere", gone.URL} {
		var log bytes.Buffer
		p := policyOf(t, password.PolicyConfig{URL: address, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := p.Check(ctx, chosen)
		cancel()
		if err != nil || !strings.Contains(log.String(), "breached passwords cannot be looked up") {
			t.Errorf("%s: %v, logged %q", address, err, log.String())
		}
		if strings.Contains(log.String(), chosen) || strings.Contains(log.String(), sha(chosen)[:5]) {
			t.Errorf("%s: the log tells the password: %s", address, log.String())
		}
	}
	for _, wrong := range []string{"http://api.example/range", "ftp://localhost", "https://", "https://me@api.example", "https://api.example/?x", "://"} {
		if _, err := password.NewPolicy(password.PolicyConfig{URL: wrong}); err == nil {
			t.Errorf("%q is an API", wrong)
		}
	}
}

// A cost is above a hash with less memory or fewer passes.
func TestAbove(t *testing.T) {
	t.Parallel()
	low := password.Cost{MemoryKiB: 64, Passes: 1}
	hash, err := low.Hash("violet kettle drum")
	if err != nil {
		t.Fatal(err)
	}
	for cost, want := range map[password.Cost]bool{
		low: false, {MemoryKiB: 65, Passes: 1}: true, {MemoryKiB: 64, Passes: 2}: true, {MemoryKiB: 32, Passes: 1}: false, {}: true,
	} {
		if got := cost.CostsMoreThan(hash); got != want {
			t.Errorf("%+v is above %s: %t", cost, hash, got)
		}
	}
	for _, wrong := range []string{"", "!", "$argon2id$v=19$x$y$z"} {
		if (password.Cost{}).CostsMoreThan(wrong) {
			t.Errorf("a cost is above %q", wrong)
		}
	}
}
