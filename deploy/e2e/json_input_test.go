package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// nested returns a tools/call whose JSON is levels deep.
func nested(levels int) string {
	inner := levels - 3 // the message, params and arguments
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{"x":` +
		strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}}`
}

// TestBadJSON: each of these is refused before anything is run, with a JSON-RPC
// error whose id is null.
func TestBadJSON(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := map[string]struct {
		body string
		code int
	}{
		"nothing":                           {"", codeParse},
		"white space":                       {" \r\n\t", codeParse},
		"cut off":                           {ping[:len(ping)-1], codeParse},
		"no JSON":                           {"hello", codeParse},
		"XML":                               {"<ping/>", codeParse},
		"single quotes":                     {"{'jsonrpc':'2.0','id':1,'method':'ping'}", codeParse},
		"a trailing comma":                  {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, codeParse},
		"a comment":                         {`{"jsonrpc":"2.0","id":1,/**/"method":"ping"}`, codeParse},
		"NaN":                               {`{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, codeParse},
		"a leading zero":                    {`{"jsonrpc":"2.0","id":01,"method":"ping"}`, codeParse},
		"a raw control character":           {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x01ng\"}", codeParse},
		"a raw NUL after it":                {ping + "\x00", codeParse},
		"two messages":                      {ping + ping, codeParse},
		"two messages in lines":             {ping + "\n" + ping, codeParse},
		"something after it":                {ping + "x", codeParse},
		"a byte order mark":                 {"\ufeff" + ping, codeParse},
		"bytes that are no UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", codeParse},
		"an overlong form":                  {"{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xae\",\"method\":\"ping\"}", codeParse},
		"UTF-16":                            {"{\x00\"\x00", codeParse},
		"a lone surrogate":                  {`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, codeParse},
		"a lone surrogate in arguments":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"\udc00"}}}`, codeParse},
		"two methods":                       {`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}`, codeParse},
		"two ids":                           {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, codeParse},
		"a method under an escaped name":    {`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`, codeParse},
		"two names":                         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","name":"add_note"}}`, codeParse},
		"two keys in arguments":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"a","query":"b"}}}`, codeParse},
		"two keys in what nobody reads":     {`{"jsonrpc":"2.0","id":1,"method":"ping","x":{"a":1,"a":2}}`, codeParse},
		"METHOD beside method":              {`{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"ping"}`, codeInvalidRequest},
		"Method in place of method":         {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, codeInvalidRequest},
		"ID beside id":                      {`{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}`, codeInvalidRequest},
		"a batch":                           {"[" + ping + "]", codeInvalidRequest},
		"a batch of two":                    {"[" + ping + "," + ping + "]", codeInvalidRequest},
		"an empty batch":                    {"[]", codeInvalidRequest},
		"a batch after white space":         {" \n[" + ping + "]", codeInvalidRequest},
		"a string":                          {`"ping"`, codeInvalidRequest},
		"a number":                          {"1", codeInvalidRequest},
		"null":                              {"null", codeInvalidRequest},
		"33 levels":                         {nested(33), codeInvalidRequest},
		"5000 levels":                       {nested(5000), codeInvalidRequest},
		"a number that is infinite":         {`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, codeInvalidRequest},
		"a number with 400 digits":          {`{"jsonrpc":"2.0","id":1` + strings.Repeat("0", 400) + `,"method":"ping"}`, codeInvalidRequest},
		"an infinite number in arguments":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"a","limit":-1e999}}}`, codeInvalidRequest},
		"an empty object":                   {"{}", codeInvalidRequest},
		"no jsonrpc":                        {`{"id":1,"method":"ping"}`, codeInvalidRequest},
		"jsonrpc 1.0":                       {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, codeInvalidRequest},
		"jsonrpc as a number":               {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, codeInvalidRequest},
		"no method":                         {`{"jsonrpc":"2.0","id":1}`, codeInvalidRequest},
		"a method that is a number":         {`{"jsonrpc":"2.0","id":1,"method":7}`, codeInvalidRequest},
		"id null":                           {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, codeInvalidRequest},
		"id true":                           {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, codeInvalidRequest},
		"id an object":                      {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeInvalidRequest},
		"id an array":                       {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, codeInvalidRequest},
		"a request and a response at once":  {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, codeInvalidRequest},
		"a response without an id":          {`{"jsonrpc":"2.0","result":{}}`, codeInvalidRequest},
		"a request and an error at once":    {`{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, codeInvalidRequest},
		"a form":                            {"jsonrpc=2.0&method=ping&id=1", codeParse},
		"a server-sent event":               {"data: " + ping + "\n\n", codeParse},
		"an unpaired escape at the end":     {`{"jsonrpc":"2.0","id":1,"method":"ping\`, codeParse},
		"a string that never ends, 1 MiB":   {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1<<20), codeParse},
		"a number that goes on for 1 MiB":   {`{"jsonrpc":"2.0","method":"ping","id":1.` + strings.Repeat("1", 1<<20), codeParse},
		"a broken escape in the arguments":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"\x41"}}}`, codeParse},
		"an object key that is no string":   {`{"jsonrpc":"2.0","id":1,"method":"ping",1:2}`, codeParse},
		"a vertical tab between the tokens": {"{\v\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", codeParse},
	}
	eachTopology(t, func(t *testing.T, s *service) {
		live := s.newMember(t).agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []agent{live, s.visitor()} {
					checkMalformed(t, a.post(t, test.body), http.StatusBadRequest, test.code)
				}
			})
		}
	})
}

// checkMalformed wants the answer to a body that was never taken for a message.
func checkMalformed(t *testing.T, got answer, status, code int) {
	t.Helper()
	if got.status != status {
		t.Fatalf("got %d %s, want %d", got.status, got.body, status)
	}
	r := got.reply(t)
	if r.Error == nil || r.Error.Code != code || r.Error.Message == "" || string(r.ID) != "null" || r.Result != nil {
		t.Errorf("got %s, want the error %d with the id null", got.body, code)
	}
	checkJSONBody(t, got)
}

// TestGoodJSON: what is unusual, but fine, is taken.
func TestGoodJSON(t *testing.T) {
	tests := map[string]struct{ body, id string }{
		"white space around it":     {" \n{\"jsonrpc\" : \"2.0\", \"id\":1,\"method\":\"ping\"}\r\n ", "1"},
		"an escaped method":         {`{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, "1"},
		"an escaped key":            {`{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping"}`, "1"},
		"keys in another order":     {`{"method":"ping","id":1,"jsonrpc":"2.0"}`, "1"},
		"a key that nobody knows":   {`{"jsonrpc":"2.0","id":1,"method":"ping","trace":{"a":[1]}}`, "1"},
		"params with _meta":         {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}`, "1"},
		"id 0":                      {`{"jsonrpc":"2.0","id":0,"method":"ping"}`, "0"},
		"id -0":                     {`{"jsonrpc":"2.0","id":-0,"method":"ping"}`, "-0"},
		"id with a fraction":        {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5"},
		"id with an exponent":       {`{"jsonrpc":"2.0","id":1E2,"method":"ping"}`, "1E2"},
		"id beyond 2^53":            {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "9007199254740993"},
		"id of 40 digits":           {`{"jsonrpc":"2.0","id":1234567890123456789012345678901234567890,"method":"ping"}`, "1234567890123456789012345678901234567890"},
		"id an empty string":        {`{"jsonrpc":"2.0","id":"","method":"ping"}`, `""`},
		"id with escapes":           {`{"jsonrpc":"2.0","id":"\u00e9\/\n\"<","method":"ping"}`, `"\u00e9\/\n\"<"`},
		"id with a surrogate pair":  {`{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"ping"}`, `"\ud83d\ude00"`},
		"id in other scripts":       {`{"jsonrpc":"2.0","id":"日本😀","method":"ping"}`, `"日本😀"`},
		"id with an escaped NUL":    {`{"jsonrpc":"2.0","id":"\u0000","method":"ping"}`, `"\u0000"`},
		"id of 10,000 characters":   {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 10000) + `","method":"ping"}`, `"` + strings.Repeat("i", 10000) + `"`},
		"a 1 MiB parameter":         {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, "1"},
		"32 levels, in a tool call": {nested(32), "1"},
	}
	eachTopology(t, func(t *testing.T, s *service) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				got := s.visitor().post(t, test.body)
				if got.status != http.StatusOK {
					t.Fatalf("got %d %s", got.status, got.body)
				}
				if r := got.reply(t); string(r.ID) != test.id || r.Error != nil {
					t.Errorf("got %s, want the id %s", got.body, test.id)
				}
			})
		}
	})
}
