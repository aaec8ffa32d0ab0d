package rpc

import "testing"

func TestPathAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		data         string
		line, column int
		want         string
	}{
		{`{"a":1}`, 1, 6, "a"},
		{`{"a":{"b":[1,"x"]}}`, 1, 14, "a.b[1]"},
		{"{\n  \"a\": 1,\n  \"b\": true\n}", 3, 8, "b"},
		{`{"ä":"é","b":7}`, 1, 14, "b"},
		{`{"a":[{"b":1},{"b":2}]}`, 1, 20, "a[1].b"},
		{`7`, 1, 1, ""},
		{`{`, 1, 2, ""},
		{``, 1, 1, ""},
		{`{"a":1}`, 9, 9, ""},
	} {
		if got := pathAt([]byte(test.data), test.line, test.column); got != test.want {
			t.Errorf("%s at %d:%d: got %q, want %q", test.data, test.line, test.column, got, test.want)
		}
	}
}

func FuzzPathAt(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c"}]}`), 1, 5)
	f.Fuzz(func(_ *testing.T, data []byte, line, column int) {
		pathAt(data, line%100, column%1000) // must not panic
	})
}
