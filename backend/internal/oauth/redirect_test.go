package oauth_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"pgregory.net/rapid"
)

func TestCheckRedirectURI(t *testing.T) {
	t.Parallel()
	const never, always, private = "never", "always", "where private schemes are allowed"
	for _, c := range []struct{ uri, taken string }{
		{"https://a.example", always}, {"https://a.example/", always}, {"https://a.example/cb?x=y&z=%2F", always}, {"https://a.example:8443/cb", always},
		{"https://[2001:db8::1]/cb", always}, {"https://192.0.2.1/cb", always}, {"HTTPS://A.example/cb", always}, {"https://xn--bcher-kva.example/cb", always},
		{"https://localhost/cb", always}, {"https://a.example/%63b", always}, {"https://a.example/" + strings.Repeat("x", 1982), always},
		{"http://localhost", always}, {"http://localhost/cb", always}, {"http://localhost:3000/cb", always}, {"http://127.0.0.1/cb", always},
		{"http://127.0.0.1:65535/cb?x", always}, {"http://[::1]/cb", always}, {"http://[::1]:3000/", always},

		{"", never}, {" ", never}, {"/cb", never}, {"//a.example/cb", never}, {"a.example/cb", never}, {"https:", never}, {"https:a.example", never}, {"https:///cb", never},
		{"https://:443/cb", never}, {"https://a.example:x/cb", never}, {"https://a.example/cb#", never}, {"https://a.example/cb#x", never}, {"https://a.example?x#y", never},
		{"https://u@a.example/cb", never}, {"https://@a.example/cb", never}, {"https://u:p@a.example/cb", never}, {"https://a.example\\@evil.example/cb", never},
		{"https:\\\\a.example\\cb", never}, {"https://a.example/\\evil.example", never}, {"https://a.example/c b", never}, {" https://a.example/cb", never}, {"https://a.example/cb ", never}, {"https://a.example/\r\nX: y", never},
		{"https://a.example/\tcb", never}, {"https://a.example/\x00", never}, {"https://a.example/\x7f", never}, {"https://a.example/é", never}, {"https://ä.example/", never},
		{"https://a.example/\xff", never}, {"https://a.example%2f.evil.example/", never}, {"https://%61.example/", never}, {"https://a.example/%zz", never},
		{"https://a.example/" + strings.Repeat("x", 1983), never},
		{"http://a.example/cb", never}, {"http://localhost.a.example/cb", never}, {"http://a.localhost/cb", never}, {"http://LOCALHOST/cb", never}, {"http://localhost./cb", never},
		{"http://127.0.0.2/cb", never}, {"http://127.1/cb", never}, {"http://0.0.0.0/cb", never}, {"http://2130706433/cb", never}, {"http://127.0.0.1.a.example/cb", never},
		{"http://[::]/cb", never}, {"http://[::ffff:127.0.0.1]/cb", never}, {"http://[0:0:0:0:0:0:0:1]/cb", never}, {"http://[::1%25lo]/cb", never}, {"http://::1/cb", never},
		{"http://[localhost]/cb", never}, {"http://u@localhost/cb", never}, {"http://10.0.0.1/cb", never}, {"http://192.168.0.1/cb", never},

		{"cursor://anysphere.cursor-mcp/cb", private}, {"vscode://x/cb", private}, {"com.example.app:/cb", private}, {"com.example.app://cb", private}, {"app://x", private},
		{"javascript:alert(1)", never}, {"JavaScript://a.example/%0aalert(1)", never}, {"data:text/html,x", never}, {"data://a.example/x", never}, {"vbscript://a.example/x", never},
		{"file:///etc/passwd", never}, {"file://a.example/x", never}, {"about:blank", never}, {"blob://a.example/x", never}, {"ftp://a.example/x", never},
		{"ws://a.example/x", never}, {"wss://a.example/x", never}, {"app:x", never}, {"app:/x", never}, {"cursor://x/cb#y", never}, {"cursor://u@x/cb", never},
	} {
		for allowed, want := range map[bool]bool{false: c.taken == always, true: c.taken != never} {
			err := oauth.CheckRedirectURI(c.uri, allowed)
			if err == nil != want || err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("%q, private schemes %v: %v", c.uri, allowed, err)
			}
		}
	}
}

// The parts of an address as people see it: the registrable domain, separate from the
// prefix that its owner is free to choose.
func TestDestinationOf(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]oauth.Destination{
		"https://claude.ai/api/mcp/auth_callback":      {Domain: "claude.ai"},
		"https://Mcp.Claude.AI:8443/cb":                {Subdomain: "mcp.", Domain: "claude.ai", Port: "8443"},
		"https://claude.ai.oauth.evil.example/cb":      {Subdomain: "claude.ai.oauth.", Domain: "evil.example"},
		"https://claude.ai.co.uk/cb":                   {Subdomain: "claude.", Domain: "ai.co.uk"},
		"https://claude.github.io/cb":                  {Domain: "claude.github.io"},
		"https://github.io/cb":                         {Domain: "github.io"},
		"https://www.xn--laude-2of.ai/cb":              {Subdomain: "www.", Domain: "xn--laude-2of.ai"},
		"https://intranet/cb":                          {Domain: "intranet"},
		"https://192.0.2.1/cb":                         {Domain: "192.0.2.1"},
		"https://[2001:db8::1]:444/cb":                 {Domain: "[2001:db8::1]", Port: "444"},
		"https://localhost/cb":                         {Domain: "localhost", Loopback: true},
		"http://localhost:3000/cb":                     {Scheme: "http", Domain: "localhost", Port: "3000", Loopback: true},
		"http://[::1]/cb":                              {Scheme: "http", Domain: "[::1]", Loopback: true},
		"cursor://anysphere.cursor-mcp/oauth/callback": {Scheme: "cursor", Domain: "anysphere.cursor-mcp"},
		"com.example.app:/cb":                          {Scheme: "com.example.app"},
	} {
		got, err := oauth.DestinationOf(uri)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	for _, uri := range []string{"", "https://claude.ai%E2%81%84cb.evil.example/cb", "https://a.example./", "javascript:alert(1)"} {
		if got, err := oauth.DestinationOf(uri); !fault.Is(err, fault.Invalid) || got != (oauth.Destination{}) {
			t.Errorf("%q: %+v, %v", uri, got, err)
		}
	}
}

func TestMatchRedirectURI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		registered, given string
		want              bool
	}{
		{"https://a.example/cb", "https://a.example/cb", true},
		{"https://a.example/cb", "", false},
		{"https://a.example/cb", "https://a.example/cb/", false},
		{"https://a.example/cb", "https://a.example/%63b", false},
		{"https://a.example/%63b", "https://a.example/cb", false},
		{"https://a.example/%63b", "https://a.example/%63b", true},
		{"https://a.example/cb", "https://A.example/cb", false},
		{"https://a.example/cb", "https://a.example:443/cb", false},
		{"https://localhost/cb", "https://localhost:1/cb", false},
		{"http://localhost/cb", "http://localhost:1/cb", true},
		{"http://localhost:2/cb", "http://localhost/cb", true},
		{"http://localhost:2/cb", "http://localhost:3/cb", true},
		{"http://localhost", "http://localhost:3", true},
		{"http://localhost", "http://localhost:3/", false},
		{"http://localhost?x", "http://localhost:3?x", true},
		{"http://localhost/cb", "http://localhost:00001/cb", true},
		{"http://localhost/cb", "http://localhost:000001/cb", false},
		{"http://localhost/cb", "http://localhost:/cb", false},
		{"http://localhost/cb", "http://localhost:-1/cb", false},
		{"http://localhost/cb", "http://localhost:1:1/cb", false},
		{"http://localhost/cb", "http://localhost:1/cb?x", false},
		{"http://localhost/cb", "http://localhost:1/cb#x", false},
		{"http://localhost/cb", "http://localhost:1/%63b", false},
		{"http://localhost/cb", "HTTP://localhost:1/cb", false},
		{"http://localhost/cb", "http://127.0.0.1:1/cb", false},
		{"http://localhost/cb", "http://[localhost]:1/cb", false},
		{"http://localhost/cb", "http://localhost:1@evil.example/cb", false},
		{"http://localhost", "http://localhost:1@evil.example", false},
		{"http://localhost", "http://localhost.evil.example", false},
		{"http://localhost", "http://localhost:1.evil.example", false},
		{"http://localhost", "http://localhost\\@evil.example", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:9/cb", true},
		{"http://127.0.0.1/cb", "http://127.0.0.10/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1.evil.example/cb", false},
		{"http://[::1]/cb", "http://[::1]:9/cb", true},
		{"http://[::1]/cb", "http://::1/cb", false},
		{"http://[::1]/cb", "http://[::1]evil.example/cb", false},
		{"http://a.example/cb", "http://a.example:1/cb", false},
		{"cursor://x/cb", "cursor://x:1/cb", false},
	} {
		if got := oauth.MatchRedirectURI([]string{"https://other.example/cb", c.registered}, c.given); got != c.want {
			t.Errorf("%q against %q: %v", c.given, c.registered, got)
		}
	}
	if oauth.MatchRedirectURI(nil, "") || oauth.MatchRedirectURI([]string{}, "https://a.example/cb") {
		t.Error("an address matches an empty list")
	}
}

// anyURI generates addresses that are nearly right, from the parts that attacks use.
func anyURI() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"http://", "https://", "HTTP://", "cursor://", "//", "localhost", "127.0.0.1", "[::1]", "[", "]", "evil.example", "a.example", "u@", "@", "\\", ":", ":80", ":65536", "0",
		".", "/", "/cb", "/%63b", "%2f", "%40", "?", "?x=y", "&", "#", "#x", "..", " ", "\t", "\r\n", "\x00", "é",
	})
	return rapid.Map(rapid.SliceOfN(part, 0, 7), func(parts []string) string { return strings.Join(parts, "") })
}

// loopback matches an http address of the local machine.
var loopback = regexp.MustCompile(`^http://(localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?((?:[/?].*)?)$`)

// matchProperty holds for any two addresses: a match leads to the same place, except
// for the port of a loopback address.
func matchProperty(registered, given string) string {
	if !oauth.MatchRedirectURI([]string{registered}, registered) {
		return "an address does not match itself"
	}
	a, b := loopback.FindStringSubmatch(registered), loopback.FindStringSubmatch(given)
	same := registered == given || a != nil && b != nil && a[1] == b[1] && a[2] == b[2]
	if oauth.MatchRedirectURI([]string{registered}, given) != same {
		return "the match is wrong"
	}
	if !same || oauth.CheckRedirectURI(registered, false) != nil {
		return ""
	}
	r, rErr := url.Parse(registered)
	g, gErr := url.Parse(given)
	if rErr != nil || gErr != nil || r.Scheme != g.Scheme || r.Hostname() != g.Hostname() || r.RequestURI() != g.RequestURI() || g.User != nil || g.Fragment != "" {
		return "the match leads elsewhere"
	}
	return ""
}

func TestMatchesLeadToTheSamePlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		registered := rapid.OneOf(anyURI(), rapid.SampledFrom([]string{"http://localhost/cb", "http://localhost", "http://127.0.0.1:80/cb", "http://[::1]?x=y"})).Draw(t, "registered")
		given := anyURI().Draw(t, "given")
		if rapid.Bool().Draw(t, "alike") { // a mutation of the registered one
			at := rapid.IntRange(0, len(registered)).Draw(t, "at")
			given = registered[:at] + rapid.SampledFrom([]string{":80", ":", "0", "@", "/", "\\", "#", "é", "."}).Draw(t, "insert") + registered[at:]
		}
		if wrong := matchProperty(registered, given); wrong != "" {
			t.Fatalf("%s: %q against %q", wrong, given, registered)
		}
	})
}

func TestRegisteredURIsAreHarmless(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		uri := rapid.OneOf(anyURI(), rapid.String()).Draw(t, "uri")
		private := rapid.Bool().Draw(t, "private")
		if oauth.CheckRedirectURI(uri, private) != nil {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || u.User != nil || strings.ContainsAny(uri, "#\\ \r\n\t\x00") || !u.IsAbs() {
			t.Fatalf("%q is accepted", uri)
		}
		if host := u.Host; strings.ContainsFunc(host, func(r rune) bool { return r > '~' || strings.ContainsRune("%@ ", r) }) || strings.HasSuffix(u.Hostname(), ".") {
			t.Fatalf("%q is accepted, with the host %q", uri, host)
		}
		local := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
		if !private && (u.Scheme != "https" || u.Hostname() == "") && (u.Scheme != "http" || !local) {
			t.Fatalf("%q is accepted", uri)
		}
	})
}

func FuzzMatchRedirectURI(f *testing.F) {
	for _, seed := range [][2]string{
		{"https://a.example/cb", "https://a.example/%63b"}, {"http://localhost/cb", "http://localhost:80@evil.example/cb"}, {"http://[::1]:1/", "http://[::1]/"},
		{"http://localhost", "http://[localhost]:1"}, {"http://127.0.0.1?x", "http://127.0.0.1:65536?x"}, {"", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, registered, given string) {
		if wrong := matchProperty(registered, given); wrong != "" {
			t.Errorf("%s: %q against %q", wrong, given, registered)
		}
	})
}
