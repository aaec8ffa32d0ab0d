package server

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/route"
)

// posts are the routes that take a body.
func posts() []route.Route {
	rows := slices.DeleteFunc(route.Mounted(Routes(), true), func(r route.Route) bool { return !slices.Contains(r.Methods, "POST") })
	for i := range rows {
		rows[i].Pattern = strings.ReplaceAll(rows[i].Pattern, "{id}", "con_1")
	}
	return rows
}

// takesFile reports whether a path of posts takes a file.
func takesFile(r route.Route) bool {
	return r.Pattern == "/import" || r.Pattern == "/people/con_1/photo-upload" || r.Pattern == "/people/share"
}

// limited returns a configuration with limits that no test reaches.
func limited(t *testing.T) Config {
	t.Helper()
	c := testConfig(backendtest.New())
	for _, policy := range RatePolicies() {
		c.RateLimits[policy] = "1000/60"
	}
	return c
}

// wantShape checks that an error has the format of the route's protocol, and the headers of its
// limit.
func wantShape(t *testing.T, row route.Route, r reply, status int) {
	t.Helper()
	want := map[route.Protocol]string{
		route.HTTP: `"code":"`, route.MCP: `"error":{"code":-32600`, route.OAuth: `"error":"invalid_request"`, route.Page: "<!doctype html>", route.DAV: `"code":"`,
	}[row.Protocol]
	if r.status != status || !strings.Contains(r.body, want) {
		t.Errorf("%s: got %d %s, want %d with %s", row.Pattern, r.status, r.body, status, want)
	}
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if got := r.header.Values(name); (len(got) == 1) != (row.RatePolicy != "") {
			t.Errorf("%s: %d with %s %q", row.Pattern, status, name, got)
		}
	}
}

// Every path that takes a body refuses one that is compressed or too large, in the error format
// of its protocol.
func TestBodiesOfEveryPost(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, limited(t)))
	bearer := "Authorization: Bearer " + backendtest.TokenAll
	for _, row := range posts() {
		wantShape(t, row, raw(t, s, post(row.Pattern, "{}", bearer, "Content-Encoding: gzip")), 415)
		if takesFile(row) {
			continue // files are forwarded while they arrive
		}
		large := strings.Replace(post(row.Pattern, "", bearer, "Expect: 100-continue"), "Content-Length: 0", "Content-Length: "+strconv.Itoa(8<<20), 1)
		wantShape(t, row, raw(t, s, large), 413)
	}
}

func TestSlowBodyOfEveryPost(t *testing.T) {
	t.Parallel()
	s := shortOfTime(t, limited(t))
	bearer := "Authorization: Bearer " + backendtest.TokenAll
	for _, row := range posts() {
		if takesFile(row) {
			continue // files may take longer
		}
		t.Run(row.Pattern, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, s)
			if _, err := io.WriteString(conn, strings.TrimSuffix(post(row.Pattern, `{"type":"anonymous"}`, bearer), "}")); err != nil {
				t.Fatal(err)
			}
			wantShape(t, row, readReply(t, conn), 408)
		})
	}
}

// A registration body follows the rules of other JSON bodies, except that unknown members
// are accepted.
func TestRegistrationsAreStrict(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, testConfig(backendtest.New())))
	const uris = `"redirect_uris":["https://a.example/cb"]`
	for name, body := range map[string]string{
		"duplicate":                 `{` + uris + `,` + uris + `}`,
		"nested":                    `{` + uris + `,"x":{"y":1,"y":2}}`,
		"same name in another case": `{` + uris + `,"Redirect_URIs":["https://b.example/cb"]}`,
		"too deep":                  `{` + uris + `,"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
		"infinite number":           `{` + uris + `,"x":1e999}`,
		"bad UTF-8":                 `{` + uris + `,"client_name":"` + "\xff" + `"}`,
		"lone surrogate":            `{` + uris + `,"client_name":"\ud800"}`,
		"two objects":               `{` + uris + `}{}`,
	} {
		if r := raw(t, s, post("/oauth/register", body)); r.status != 400 || !strings.Contains(r.body, `"error":"invalid_client_metadata"`) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if r := raw(t, s, post("/oauth/register", `{`+uris+`,"software_id":"x","jwks":{"keys":[]}}`)); r.status == 400 {
		t.Errorf("unknown members: %d %s", r.status, r.body)
	}
}
