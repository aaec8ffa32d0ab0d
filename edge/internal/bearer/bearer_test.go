package bearer

import (
	"net/http"
	"strings"
	"testing"
)

func TestReadBearer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxBytes)
	for name, test := range map[string]struct {
		lines []string
		want  Bearer
	}{
		"none":                     {nil, Bearer{}},
		"a token":                  {[]string{"Bearer kith_pat_a-b._~+/=="}, Bearer{true, "kith_pat_a-b._~+/=="}},
		"any case":                 {[]string{"bEARER abc"}, Bearer{true, "abc"}},
		"spaces between":           {[]string{"Bearer   abc"}, Bearer{true, "abc"}},
		"the longest":              {[]string{"Bearer " + long}, Bearer{true, long}},
		"too long":                 {[]string{"Bearer " + long + "a"}, Bearer{Presented: true}},
		"two lines":                {[]string{"Bearer abc", "Bearer abc"}, Bearer{Presented: true}},
		"empty":                    {[]string{""}, Bearer{Presented: true}},
		"scheme alone":             {[]string{"Bearer"}, Bearer{Presented: true}},
		"scheme and a space":       {[]string{"Bearer "}, Bearer{Presented: true}},
		"another scheme":           {[]string{"Basic abc"}, Bearer{Presented: true}},
		"two tokens":               {[]string{"Bearer abc def"}, Bearer{Presented: true}},
		"a list":                   {[]string{"Bearer abc, Bearer def"}, Bearer{Presented: true}},
		"bytes of no token":        {[]string{"Bearer ab\"c"}, Bearer{Presented: true}},
		"padding inside the token": {[]string{"Bearer a=b"}, Bearer{Presented: true}},
		"padding alone":            {[]string{"Bearer =="}, Bearer{Presented: true}},
		"no ASCII":                 {[]string{"Bearer ä"}, Bearer{Presented: true}},
	} {
		h := http.Header{}
		if test.lines != nil {
			h["Authorization"] = test.lines
		}
		if got := Read(h); got != test.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// The challenge says where to get a token and which scopes to request: all scopes of the
// resource, or those that the call needs.
func TestChallenge(t *testing.T) {
	t.Parallel()
	c := NewChallenge("https://kith.example/x", []string{"timeline", "write"})
	for _, test := range []struct{ got, want string }{
		{c.Missing(), `Bearer resource_metadata="https://kith.example/x", scope="timeline write"`},
		{c.InvalidToken(), `Bearer resource_metadata="https://kith.example/x", error="invalid_token", error_description="The access token is expired, revoked or malformed", scope="timeline write"`},
		{c.InsufficientScope([]string{"imports", "write"}), `Bearer resource_metadata="https://kith.example/x", error="insufficient_scope", scope="imports write"`},
		{c.InsufficientScope(nil), `Bearer resource_metadata="https://kith.example/x", error="insufficient_scope"`},
		{NewChallenge("https://kith.example/x", nil).Missing(), `Bearer resource_metadata="https://kith.example/x"`},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
