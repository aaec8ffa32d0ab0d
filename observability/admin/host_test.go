package admin_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/observability/admin"
)

// TestRebinding: a name that an attacker's DNS server resolves to the listener's address is
// refused on every path; the listener's own addresses and names are not.
func TestRebinding(t *testing.T) {
	t.Parallel()
	hosts := []string{"kith-edge.internal"}
	ours := map[string][]string{
		"127.0.0.1": {"127.0.0.1:8081", "localhost:8081", "LOCALHOST", "localhost.", "[::1]:8081", "kith-edge.internal:8081", "Kith-Edge.internal", ""},
		"10.1.2.3":  {"10.1.2.3:8081", "10.1.2.3", "[::ffff:10.1.2.3]:8081", "localhost:9000", "127.0.0.1", "kith-edge.internal"},
		"::":        {"10.1.2.3:8081", "192.0.2.7", "[2001:db8::1]:8081", "localhost", "kith-edge.internal:1"},
	}
	theirs := map[string][]string{
		"127.0.0.1": {
			"rebind.evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example:8081", "10.1.2.3:8081", "0.0.0.0:8081",
			"kith-edge.internal.evil.example", "[localhost]evil.example", "127.0.0.1@evil.example", "2130706433", "0x7f.1", "evil.localhost",
		},
		"10.1.2.3": {"10.1.2.4:8081", "rebind.evil.example"},
		"::":       {"rebind.evil.example:8081", "evil.example"},
	}
	for bound, list := range ours {
		for _, host := range list {
			if got := ask(t, bound, hosts, host, "/healthz"); got.Code != http.StatusOK {
				t.Errorf("bound to %s, Host %q: %d %s", bound, host, got.Code, got.Body)
			}
		}
	}
	for bound, list := range theirs {
		for _, host := range list {
			for _, path := range []string{"/", "/status", "/metrics", "/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/cmdline", "/none"} {
				got := ask(t, bound, hosts, host, path)
				if got.Code != http.StatusMisdirectedRequest || !strings.Contains(got.Body.String(), "KITH_ADMIN_HOSTS") || strings.Contains(got.Body.String(), "m 1") {
					t.Errorf("bound to %s, Host %q, %s: %d %s", bound, host, path, got.Code, got.Body)
				}
			}
		}
	}
}

// TestProfilesStayOnLoopback: on other addresses than loopback, profiles are served only
// if they are enabled.
func TestProfilesStayOnLoopback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bound string
		on    bool
		want  int
	}{
		{"127.0.0.1", false, 200}, {"::1", false, 200},
		{"0.0.0.0", false, 404}, {"::", false, 404}, {"10.1.2.3", false, 404}, {"0.0.0.0", true, 200}, {"10.1.2.3", true, 200},
	} {
		h := admin.Handler(admin.Options{Addr: &net.TCPAddr{IP: net.ParseIP(tt.bound), Port: 8081}, Profiles: tt.on})
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
			if res, _ := do(t, h, http.MethodGet, path); res.StatusCode != tt.want {
				t.Errorf("bound to %s, profiles %v, %s: %d, want %d", tt.bound, tt.on, path, res.StatusCode, tt.want)
			}
		}
		if _, index := do(t, h, http.MethodGet, "/"); strings.Contains(index, "pprof") != (tt.want == 200) {
			t.Errorf("bound to %s, profiles %v: the index is %s", tt.bound, tt.on, index)
		}
	}
}

// ask sends a request with a Host to a listener that is bound to an address.
func ask(t *testing.T, bound string, hosts []string, host, path string) *httptest.ResponseRecorder {
	t.Helper()
	h := admin.Handler(admin.Options{Metrics: text("m 1\n"), Status: text("m 1\n"), Addr: &net.TCPAddr{IP: net.ParseIP(bound), Port: 8081}, Hosts: hosts})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	req.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}
