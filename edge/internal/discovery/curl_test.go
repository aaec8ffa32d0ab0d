package discovery

import "testing"

func TestCurlIsOneCommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request request
		want    string
	}{
		"read":   {request{Method: "GET", Path: "/a?b=c&d=e"}, `curl -sS 'https://kith.example/a?b=c&d=e'`},
		"accept": {request{Method: "GET", Path: "/a", Accept: "text/html"}, "curl -sS 'https://kith.example/a' \\\n  -H 'Accept: text/html'"},
		"quote": {
			request{Method: "POST", Path: "/a", Body: `{"a":"it's"}`},
			"curl -sS 'https://kith.example/a' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"a\":\"it'\\''s\"}'",
		},
		"token":  {request{Method: "GET", Path: "/a", Bearer: true}, "curl -sS 'https://kith.example/a' \\\n  -H \"Authorization: Bearer $KITH_TOKEN\""},
		"method": {request{Method: "DELETE", Path: "/a"}, "curl -sS 'https://kith.example/a' \\\n  -X DELETE"},
	} {
		if got := test.request.curl("https://kith.example"); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
