package mcp

import (
	"net/http"
	"strings"
	"testing"
)

func TestReadBearer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxBearerBytes)
	for name, test := range map[string]struct {
		lines []string
		want  bearer
	}{
		"none":                 {nil, bearer{}},
		"a token":              {[]string{"Bearer kith_pat_a-b._~+/=="}, bearer{true, "kith_pat_a-b._~+/=="}},
		"any case":             {[]string{"bEARER abc"}, bearer{true, "abc"}},
		"spaces between":       {[]string{"Bearer   abc"}, bearer{true, "abc"}},
		"the longest":          {[]string{"Bearer " + long}, bearer{true, long}},
		"too long":             {[]string{"Bearer " + long + "a"}, bearer{presented: true}},
		"two lines":            {[]string{"Bearer abc", "Bearer abc"}, bearer{presented: true}},
		"empty":                {[]string{""}, bearer{presented: true}},
		"scheme alone":         {[]string{"Bearer"}, bearer{presented: true}},
		"scheme and a space":   {[]string{"Bearer "}, bearer{presented: true}},
		"another scheme":       {[]string{"Basic abc"}, bearer{presented: true}},
		"two tokens":           {[]string{"Bearer abc def"}, bearer{presented: true}},
		"a list":               {[]string{"Bearer abc, Bearer def"}, bearer{presented: true}},
		"bytes of no token":    {[]string{"Bearer ab\"c"}, bearer{presented: true}},
		"padding in the midst": {[]string{"Bearer a=b"}, bearer{presented: true}},
		"padding alone":        {[]string{"Bearer =="}, bearer{presented: true}},
		"no ASCII":             {[]string{"Bearer ä"}, bearer{presented: true}},
	} {
		h := http.Header{}
		if test.lines != nil {
			h["Authorization"] = test.lines
		}
		if got := readBearer(h); got != test.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
