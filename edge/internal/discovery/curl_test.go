package discovery

import (
	"testing"

	"github.com/kith-crm/kith/edge/internal/sandbox"
)

func TestCurlIsOneCommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request request
		want    string
	}{
		"read":   {request{sandbox.Request{Method: "GET", Path: "/a?b=c&d=e"}, false}, `curl -sS 'https://kith.example/a?b=c&d=e'`},
		"accept": {request{sandbox.Request{Method: "GET", Path: "/a", Accept: "text/html"}, false}, "curl -sS 'https://kith.example/a' \\\n  -H 'Accept: text/html'"},
		"quote": {
			request{sandbox.Request{Method: "POST", Path: "/a", Body: `{"a":"it's"}`}, false},
			"curl -sS 'https://kith.example/a' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"a\":\"it'\\''s\"}'",
		},
		"token":  {request{sandbox.Request{Method: "GET", Path: "/a"}, true}, "curl -sS 'https://kith.example/a' \\\n  -H \"Authorization: Bearer $KITH_TOKEN\""},
		"method": {request{sandbox.Request{Method: "DELETE", Path: "/a"}, false}, "curl -sS 'https://kith.example/a' \\\n  -X DELETE"},
	} {
		if got := test.request.curl("https://kith.example"); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
