package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func nested(depth int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"ping","params":` +
		strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body   string
		kind   kind
		method string
		id     string
	}{
		"request":                        {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, request, "ping", `1`},
		"members in any order":           {`{"params":{},"method":"ping","id":"a","jsonrpc":"2.0"}`, request, "ping", `"a"`},
		"id 1.5":                         {`{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, request, "ping", `1.50`},
		"id beyond 2^53":                 {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, request, "ping", `9007199254740993`},
		"id with escapes":                {`{"jsonrpc":"2.0","id":"\u0061\/","method":"ping"}`, request, "ping", `"\u0061\/"`},
		"negative id":                    {`{"jsonrpc":"2.0","id":-1,"method":"ping"}`, request, "ping", `-1`},
		"white space":                    {" \r\n\t{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"ping\" } \n", request, "ping", `7`},
		"escaped key":                    {`{"jsonrpc":"2.0","id":1,"\u006dethod":"ping"}`, request, "ping", `1`},
		"escaped method":                 {`{"jsonrpc":"2.0","id":1,"method":"\u0070ing"}`, request, "ping", `1`},
		"unknown method":                 {`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, request, "server/discover", `1`},
		"unknown member":                 {`{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":[1]}}`, request, "ping", `1`},
		"notification":                   {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, notification, "notifications/initialized", ``},
		"response":                       {`{"jsonrpc":"2.0","id":1,"result":{}}`, response, "", `1`},
		"error response":                 {`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, response, "", `"x"`},
		"32 levels":                      {nested(32), request, "ping", `1`},
		"a large number without e":       {`{"jsonrpc":"2.0","id":1` + strings.Repeat("0", 305) + `,"method":"ping"}`, request, "ping", `1` + strings.Repeat("0", 305)},
		"brackets in a string":           {`{"jsonrpc":"2.0","id":"` + strings.Repeat("[", 40) + `","method":"ping"}`, request, "ping", `"` + strings.Repeat("[", 40) + `"`},
		"escaped quote before a bracket": {`{"jsonrpc":"2.0","id":"\"` + strings.Repeat("[", 40) + `\\","method":"ping"}`, request, "ping", `"\"` + strings.Repeat("[", 40) + `\\"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, fault := decode([]byte(test.body))
			if fault != nil {
				t.Fatal(fault.message)
			}
			if m.kind != test.kind || m.method != test.method || string(m.id) != test.id {
				t.Errorf("got kind %d, method %q, id %s", m.kind, m.method, m.id)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		code int
	}{
		"nothing":                          {``, codeParse},
		"no JSON":                          {`hello`, codeParse},
		"cut off":                          {`{"jsonrpc":"2.0","id":1,"method":"ping"`, codeParse},
		"batch":                            {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, codeInvalidRequest},
		"empty batch":                      {`[]`, codeInvalidRequest},
		"a string":                         {`"ping"`, codeInvalidRequest},
		"null":                             {`null`, codeInvalidRequest},
		"two objects":                      {`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, codeParse},
		"trailing garbage":                 {`{"jsonrpc":"2.0","id":1,"method":"ping"}x`, codeParse},
		"byte order mark":                  {"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, codeParse},
		"bad UTF-8":                        {`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, codeParse},
		"lone surrogate":                   {`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, codeParse},
		"raw control character":            {"{\"jsonrpc\":\"2.0\",\"id\":\"\x01\",\"method\":\"ping\"}", codeParse},
		"comment":                          {`{"jsonrpc":"2.0",/**/"id":1,"method":"ping"}`, codeParse},
		"trailing comma":                   {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, codeParse},
		"duplicate key":                    {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, codeParse},
		"duplicate key by escape":          {`{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/call"}`, codeParse},
		"duplicate key in params":          {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`, codeParse},
		"duplicate key deep in arguments":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":{"b":1,"b":2}}}}`, codeParse},
		"METHOD beside method":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"ping"}`, codeInvalidRequest},
		"Method alone":                     {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, codeInvalidRequest},
		"long s of Unicode":                {`{"jsonrpc":"2.0","id":1,"method":"ping","param` + "\u017f" + `":{}}`, codeInvalidRequest},
		"33 levels":                        {nested(33), codeInvalidRequest},
		"33 levels, not closed":            {strings.Repeat(`{"a":`, 33), codeInvalidRequest},
		"1e999":                            {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}`, codeInvalidRequest},
		"1e999 as an id":                   {`{"jsonrpc":"2.0","id":-1E+999,"method":"ping"}`, codeInvalidRequest},
		"a number of 400 digits":           {`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 400) + `,"method":"ping"}`, codeInvalidRequest},
		"no version":                       {`{"id":1,"method":"ping"}`, codeInvalidRequest},
		"version 1.0":                      {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, codeInvalidRequest},
		"version as a number":              {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, codeInvalidRequest},
		"null id":                          {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, codeInvalidRequest},
		"boolean id":                       {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, codeInvalidRequest},
		"object id":                        {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeInvalidRequest},
		"method as a number":               {`{"jsonrpc":"2.0","id":1,"method":1}`, codeInvalidRequest},
		"neither method nor result":        {`{"jsonrpc":"2.0","id":1}`, codeInvalidRequest},
		"result without an id":             {`{"jsonrpc":"2.0","result":{}}`, codeInvalidRequest},
		"request and response at once":     {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, codeInvalidRequest},
		"unquoted key":                     {`{jsonrpc:"2.0"}`, codeParse},
		"params cut off in a nested value": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":[1,`, codeParse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, fault := decode([]byte(test.body))
			if fault == nil {
				t.Fatalf("decoded as %+v", m)
			}
			if fault.code != test.code || fault.message == "" {
				t.Errorf("got %d %q, want %d", fault.code, fault.message, test.code)
			}
		})
	}
}

func TestDecodeParams(t *testing.T) {
	t.Parallel()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},` +
		`"arguments":{ "b" : [1, 2] , "a":"\u00e9"},"name":"search","cursor":"c","protocolVersion":"v"}}`
	m, fault := decode([]byte(body))
	if fault != nil {
		t.Fatal(fault.message)
	}
	p := m.params
	if string(p.arguments) != `{ "b" : [1, 2] , "a":"\u00e9"}` || string(p.name) != `"search"` ||
		string(p.cursor) != `"c"` || string(p.protocolVersion) != `"v"` || p.fault != "" {
		t.Errorf("got %s %s %s %s %q", p.arguments, p.name, p.cursor, p.protocolVersion, p.fault)
	}
	for _, params := range []string{`[]`, `1`, `{"Arguments":{}}`, `{"name":"a","NAME":"b"}`} {
		m, fault := decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`))
		if fault != nil || m.params.fault == "" {
			t.Errorf("params %s: %v, %q", params, fault, m.params.fault)
		}
	}
}

// FuzzDecode checks that another parser, whether it distinguishes case or not, reads the same
// method from every accepted body.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"ping"}`,
		`{"jsonrpc":"2.0","method":"a","params":{"name":"x","arguments":{"a":[1,{"b":null}]}}}`, nested(33), `[]`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{}}`, `{"jsonrpc":"2.0","id":1e9,"\u006dethod":"ping"}`, "\xef\xbb\xbf{}",
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"Name":1e999}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, fault := decode(body)
		if fault != nil {
			return
		}
		var other struct {
			Method *string         `json:"method"`
			ID     json.RawMessage `json:"id"`
			Params struct {
				Name json.RawMessage `json:"name"`
			} `json:"params"`
		}
		err := json.Unmarshal(body, &other)
		if err != nil && m.params.fault == "" {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", body, err)
		}
		if m.kind == response {
			if other.Method != nil {
				t.Errorf("a response %q has the method %q", body, *other.Method)
			}
			return
		}
		if other.Method == nil || *other.Method != m.method {
			t.Errorf("%q: method %q, but %v to encoding/json", body, m.method, other.Method)
		}
		if !bytes.Equal(other.ID, m.id) {
			t.Errorf("%q: id %s, but %s to encoding/json", body, m.id, other.ID)
		}
		if m.params.fault == "" && !bytes.Equal(other.Params.Name, m.params.name) {
			t.Errorf("%q: name %s, but %s to encoding/json", body, m.params.name, other.Params.Name)
		}
	})
}
