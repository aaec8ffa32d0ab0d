package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestPolicySource(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://a.example/cb":                            "",
		"http://127.0.0.1:33418/cb":                       " http://127.0.0.1:33418",
		"http://localhost/cb":                             " http://localhost",
		"http://[::1]:33418/cb":                           " http:",
		"cursor://callback":                               " cursor:",
		"com.example.app:/cb":                             " com.example.app:",
		"http://localhost; script-src *":                  "",
		"http://localhost,script-src/cb":                  " http:",
		"http://a;script-src 'unsafe-inline';x/":          "",
		"http://a;script-src/cb":                          " http:",
		"http://localhost:99999999/cb":                    " http:",
		"://x":                                            "",
		"":                                                "",
		"http://user@localhost/cb":                        " http://localhost",
		"https://a.example;script-src/cb":                 "",
		"x" + strings.Repeat("y", 30) + "://a;b/'unsafe'": " x" + strings.Repeat("y", 30) + ":",
	} {
		if got := policySource(uri); got != want {
			t.Errorf("%q: got %q", uri, got)
		}
		h := http.Header{}
		allowRedirect(h, uri)
		policy := h.Get("Content-Security-Policy")
		if strings.Count(policy, ";") != strings.Count(contentPolicy, ";") || strings.ContainsAny(policy, ",\r\n") {
			t.Errorf("%q gets another directive in: %s", uri, policy)
		}
	}
}

// A browser that is sent to any return path stays on this site.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/settings/mcp", "//evil.example", "/\\evil", "/settings/%2f", "/oauth/authorize?a=b#c", "/settings/../x", "https:evil", "/settings?\xff"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://kith.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := localPath(raw)
		if got == "" {
			return
		}
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil || path.Clean(u.Path) != u.Path {
			t.Fatalf("%q leads to %v", got, u)
		}
		if strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t") || !utf8.ValidString(got) || !strings.HasPrefix(got, "/settings") && !strings.HasPrefix(got, "/oauth/authorize") {
			t.Fatalf("%q became %q", raw, got)
		}
		if again := localPath(got); again != got {
			t.Fatalf("%q became %q, and that %q", raw, got, again)
		}
	})
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"use 3": "Use 3.", "éa": "Éa.", "Done.": "Done.", `"x" is`: `"x" is.`} {
		if got := sentence(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestWaitsAreRoundedUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 0: "0"} {
		if got := seconds(d); got != want {
			t.Errorf("%s: %s seconds", d, got)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "one minute", time.Minute: "one minute", 61 * time.Second: "2 minutes", 5 * time.Minute: "5 minutes"} {
		if got := minutes(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

// A password waits for its turn to be hashed, but not for ever, and not after the
// client has disconnected.
func TestHashingWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &request{Web: &Web{hashing: make(chan struct{}, 1)}, r: httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sign-in", nil)}
		leave, err := v.enterHashing()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := v.enterHashing(); !fault.Is(err, fault.Unavailable) || time.Since(begun) != maxHashWait {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		begun = time.Now()
		left := &request{Web: v.Web, r: v.r.WithContext(gone)}
		if _, err := left.enterHashing(); !fault.Is(err, fault.Unavailable) || time.Since(begun) != 0 {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		go leave()
		if leave, err = v.enterHashing(); err != nil {
			t.Fatal(err)
		}
		leave()
	})
}
