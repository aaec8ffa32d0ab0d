package clientip_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/clientip"
)

// proxies are the trusted proxies of the tests.
func proxies() []string {
	return []string{"10.0.0.0/8", "192.0.2.7", "2001:db8:ffff::/48", "::ffff:172.16.0.0/108"}
}

func newResolver(t testing.TB, header string) *clientip.Resolver {
	t.Helper()
	r, err := clientip.New(clientip.Config{TrustedProxies: proxies(), Header: header})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(peer string, lines ...string) *http.Request {
	return &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": lines}}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	trusted := strings.Repeat("10.0.0.2, ", 40)
	for name, test := range map[string]struct {
		peer  string
		lines []string
		want  string // the address
	}{
		"no header":                       {"203.0.113.9:1234", nil, "203.0.113.9"},
		"untrusted peer, forged header":   {"203.0.113.9:1234", []string{"198.51.100.1"}, "203.0.113.9"},
		"untrusted peer, trusted address": {"203.0.113.9:1234", []string{"198.51.100.1, 10.0.0.2"}, "203.0.113.9"},
		"one hop":                         {"10.0.0.1:1234", []string{"203.0.113.9"}, "203.0.113.9"},
		"a single trusted address":        {"192.0.2.7:1234", []string{"203.0.113.9"}, "203.0.113.9"},
		"beside the trusted address":      {"192.0.2.8:1234", []string{"203.0.113.9"}, "192.0.2.8"},
		"mapped peer":                     {"[::ffff:10.0.0.1]:1234", []string{"203.0.113.9"}, "203.0.113.9"},
		"mapped CIDR":                     {"172.16.5.4:1234", []string{"203.0.113.9"}, "203.0.113.9"},
		"beside the mapped CIDR":          {"172.32.5.4:1234", []string{"203.0.113.9"}, "172.32.5.4"},
		"mapped client":                   {"10.0.0.1:1234", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"forged on the left":              {"10.0.0.1:1234", []string{"198.51.100.1, 10.0.0.9, 203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		"several lines":                   {"10.0.0.1:1234", []string{"198.51.100.1", "203.0.113.9, 10.0.0.3", "10.0.0.2"}, "203.0.113.9"},
		"IPv6":                            {"[2001:db8:ffff::1]:1234", []string{"2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2:3:4:5:6"},
		"ports and brackets":              {"10.0.0.1:1234", []string{"[2001:db8::1]:443, [2001:db8:ffff::2], 10.0.0.3:80"}, "2001:db8::1"},
		"white space":                     {"10.0.0.1:1234", []string{"\t203.0.113.9 \t,10.0.0.2  "}, "203.0.113.9"},
		"empty elements":                  {"10.0.0.1:1234", []string{"203.0.113.9,, ,", "", ","}, "203.0.113.9"},
		"only trusted hops":               {"10.0.0.1:1234", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"not an address":                  {"10.0.0.1:1234", []string{"203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2"},
		"leading zeros":                   {"10.0.0.1:1234", []string{"203.0.113.009"}, "10.0.0.1"},
		"half a bracket":                  {"10.0.0.1:1234", []string{"203.0.113.9]"}, "10.0.0.1"},
		"a host name":                     {"10.0.0.1:1234", []string{"localhost"}, "10.0.0.1"},
		"zone":                            {"[fe80::1%eth0]:1234", nil, "fe80::1"},
		"31 hops and the client":          {"10.0.0.1:1234", []string{"203.0.113.9, " + trusted[:31*10-2]}, "203.0.113.9"},
		"32 hops":                         {"10.0.0.1:1234", []string{"203.0.113.9, " + trusted[:32*10-2]}, "10.0.0.2"},
		"peer without a port":             {"203.0.113.9", nil, "203.0.113.9"},
		"Unix socket":                     {"@", []string{"203.0.113.9"}, "invalid IP"},
		"no peer":                         {"", []string{"203.0.113.9"}, "invalid IP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newResolver(t, "").Resolve(request(test.peer, test.lines...))
			if got.Addr.String() != test.want || got.Bucket != clientip.Bucket(got.Addr) {
				t.Errorf("got %s, bucket %q; want %s", got.Addr, got.Bucket, test.want)
			}
		})
	}
}

// Only the configured header is read.
func TestResolveReadsOneHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{
		"X-Forwarded-For": {"198.51.100.1"}, "X-Real-Ip": {"203.0.113.9"},
		"Forwarded": {"for=198.51.100.2"}, "True-Client-Ip": {"198.51.100.3"},
	}
	got := newResolver(t, "x-real-ip").Resolve(&http.Request{RemoteAddr: "10.0.0.1:1", Header: h})
	if got.Bucket != "203.0.113.9" {
		t.Errorf("got %+v", got)
	}
}

func TestResolveTrustsNoOneByDefault(t *testing.T) {
	t.Parallel()
	r, err := clientip.New(clientip.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Resolve(request("127.0.0.1:1", "203.0.113.9")); got.Bucket != "127.0.0.1" {
		t.Errorf("got %+v", got)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"203.0.113.9":             "203.0.113.9",
		"::ffff:203.0.113.9":      "203.0.113.9",
		"2001:db8:1:2:3:4:5:6":    "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::":     "2001:db8:1:2::/64",
		"2001:db8:1:3::":          "2001:db8:1:3::/64",
		"fe80::1%eth0":            "fe80::/64",
		"::1":                     "::/64",
		"2001:db8:1:2:3:4:5:6%en": "2001:db8:1:2::/64",
	} {
		if got := clientip.Bucket(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %q, want %q", addr, got, want)
		}
	}
	if got := clientip.Bucket(netip.Addr{}); got != "unknown" {
		t.Errorf("no address: got %q", got)
	}
}

func TestNewNamesTheMistake(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config clientip.Config
		want   string
	}{
		{clientip.Config{TrustedProxies: []string{"10.0.0.0/8", "10.0.0/8"}}, `trusted proxy "10.0.0/8" is not a CIDR`},
		{clientip.Config{TrustedProxies: []string{""}}, `trusted proxy "" is not a CIDR`},
		{clientip.Config{TrustedProxies: []string{"proxy.internal"}}, `trusted proxy "proxy.internal" is not a CIDR`},
		{clientip.Config{TrustedProxies: []string{"0.0.0.0/0"}}, "contains every address"},
		{clientip.Config{TrustedProxies: []string{"::/0"}}, "contains every address"},
		{clientip.Config{TrustedProxies: []string{"::ffff:0.0.0.0/96"}}, "contains every address"},
		{clientip.Config{Header: "X Forwarded For"}, `"X Forwarded For" is not the name of a header`},
		{clientip.Config{Header: "forwarded"}, "Forwarded is not supported; have the proxy set X-Forwarded-For"},
	} {
		if _, err := clientip.New(test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v", test.config, err)
		}
	}
}

// No header that a client sends makes Resolve fail or lets the client choose its address.
func FuzzResolve(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.2", "203.0.113.9:1", false)
	f.Add("2001:db8::1\n[::1]:80,,", "10.0.0.1:1", true)
	f.Add("%00, \t,::ffff:10.0.0.1", "[::ffff:10.0.0.1]:1", true)
	r := newResolver(f, "")
	f.Fuzz(func(t *testing.T, claimed, peer string, sameLine bool) {
		got := r.Resolve(request(peer, strings.Split(claimed, "\n")...))
		if got.Bucket == "" || got.Bucket != clientip.Bucket(got.Addr) || got.Addr.Is4In6() || got.Addr.Zone() != "" {
			t.Errorf("got %+v", got)
		}
		if alone := r.Resolve(request(peer)); got != alone && !trusted(alone.Addr) {
			t.Errorf("an untrusted peer chose %+v instead of %+v", got, alone)
		}
		lines := append(strings.Split(claimed, "\n"), "203.0.113.9, 10.0.0.2")
		if sameLine {
			lines = []string{claimed + ",203.0.113.9, 10.0.0.2"}
		}
		if got := r.Resolve(request("10.0.0.1:1", lines...)); got.Bucket != "203.0.113.9" {
			t.Errorf("a client behind two proxies chose %+v", got)
		}
	})
}

// trusted reports whether the address is one of the trusted proxies of the tests.
func trusted(addr netip.Addr) bool {
	for _, s := range append(proxies(), "172.16.0.0/12", "192.0.2.7/32") {
		if prefix, err := netip.ParsePrefix(s); err == nil && prefix.Contains(addr) {
			return true
		}
	}
	return false
}

func BenchmarkResolve(b *testing.B) {
	r := newResolver(b, "")
	for name, req := range map[string]*http.Request{
		"direct":  request("203.0.113.9:1234"),
		"proxied": request("10.0.0.1:1234", "2001:db8:1:2:3:4:5:6, 10.0.0.2"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r.Resolve(req).Bucket == "" {
					b.Fatal(fmt.Sprint("no bucket for ", name))
				}
			}
		})
	}
}
