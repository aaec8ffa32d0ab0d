// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestBadJSON|TestGoodJSON'

package mcp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// nested returns a tools/call whose JSON is nested to the given number of levels.
func nested(levels int) string {
	inner := levels - 3 // the message, params and arguments
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{"x":` +
		strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}}`
}

// TestBadJSON: each of these bodies is refused before any method runs, with a JSON-RPC
// error whose id is null.
func TestBadJSON(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := map[string]struct {
		body string
		code int
	}{
		"nothing":                            {"", harness.CodeParse},
		"white space":                        {" \r\n\t", harness.CodeParse},
		"cut off":                            {ping[:len(ping)-1], harness.CodeParse},
		"not JSON":                           {"hello", harness.CodeParse},
		"XML":                                {"<ping/>", harness.CodeParse},
		"single quotes":                      {"{'jsonrpc':'2.0','id':1,'method':'ping'}", harness.CodeParse},
		"a trailing comma":                   {`{"jsonrpc":"2.0","id":1,"method":"ping",}`, harness.CodeParse},
		"a comment":                          {`{"jsonrpc":"2.0","id":1,/**/"method":"ping"}`, harness.CodeParse},
		"NaN":                                {`{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, harness.CodeParse},
		"a leading zero":                     {`{"jsonrpc":"2.0","id":01,"method":"ping"}`, harness.CodeParse},
		"a raw control character":            {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x01ng\"}", harness.CodeParse},
		"a raw NUL after the message":        {ping + "\x00", harness.CodeParse},
		"two messages":                       {ping + ping, harness.CodeParse},
		"two messages in lines":              {ping + "\n" + ping, harness.CodeParse},
		"text after the message":             {ping + "x", harness.CodeParse},
		"a byte order mark":                  {"\ufeff" + ping, harness.CodeParse},
		"bytes that are not UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", harness.CodeParse},
		"an overlong form":                   {"{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xae\",\"method\":\"ping\"}", harness.CodeParse},
		"UTF-16":                             {"{\x00\"\x00", harness.CodeParse},
		"a lone surrogate":                   {`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, harness.CodeParse},
		"a lone surrogate in arguments":      {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"\udc00"}}}`, harness.CodeParse},
		"two methods":                        {`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}`, harness.CodeParse},
		"two ids":                            {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, harness.CodeParse},
		"a method under an escaped name":     {`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`, harness.CodeParse},
		"two names":                          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","name":"add_note"}}`, harness.CodeParse},
		"two keys in arguments":              {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"a","query":"b"}}}`, harness.CodeParse},
		"two keys in an ignored member":      {`{"jsonrpc":"2.0","id":1,"method":"ping","x":{"a":1,"a":2}}`, harness.CodeParse},
		"METHOD beside method":               {`{"jsonrpc":"2.0","id":1,"method":"tools/call","METHOD":"ping"}`, harness.CodeInvalidRequest},
		"Method in place of method":          {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, harness.CodeInvalidRequest},
		"ID beside id":                       {`{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}`, harness.CodeInvalidRequest},
		"a batch":                            {"[" + ping + "]", harness.CodeInvalidRequest},
		"a batch of two":                     {"[" + ping + "," + ping + "]", harness.CodeInvalidRequest},
		"an empty batch":                     {"[]", harness.CodeInvalidRequest},
		"a batch after white space":          {" \n[" + ping + "]", harness.CodeInvalidRequest},
		"a string":                           {`"ping"`, harness.CodeInvalidRequest},
		"a number":                           {"1", harness.CodeInvalidRequest},
		"null":                               {"null", harness.CodeInvalidRequest},
		"33 levels":                          {nested(33), harness.CodeInvalidRequest},
		"5000 levels":                        {nested(5000), harness.CodeInvalidRequest},
		"a number that is infinite":          {`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, harness.CodeInvalidRequest},
		"a number with 400 digits":           {`{"jsonrpc":"2.0","id":1` + strings.Repeat("0", 400) + `,"method":"ping"}`, harness.CodeInvalidRequest},
		"an infinite number in arguments":    {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"a","limit":-1e999}}}`, harness.CodeInvalidRequest},
		"an empty object":                    {"{}", harness.CodeInvalidRequest},
		"no jsonrpc":                         {`{"id":1,"method":"ping"}`, harness.CodeInvalidRequest},
		"jsonrpc 1.0":                        {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, harness.CodeInvalidRequest},
		"jsonrpc as a number":                {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, harness.CodeInvalidRequest},
		"no method":                          {`{"jsonrpc":"2.0","id":1}`, harness.CodeInvalidRequest},
		"a method that is a number":          {`{"jsonrpc":"2.0","id":1,"method":7}`, harness.CodeInvalidRequest},
		"id null":                            {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, harness.CodeInvalidRequest},
		"id true":                            {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, harness.CodeInvalidRequest},
		"id an object":                       {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, harness.CodeInvalidRequest},
		"id an array":                        {`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, harness.CodeInvalidRequest},
		"a request and a response at once":   {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, harness.CodeInvalidRequest},
		"a response without an id":           {`{"jsonrpc":"2.0","result":{}}`, harness.CodeInvalidRequest},
		"a request and an error at once":     {`{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, harness.CodeInvalidRequest},
		"a form":                             {"jsonrpc=2.0&method=ping&id=1", harness.CodeParse},
		"a server-sent event":                {"data: " + ping + "\n\n", harness.CodeParse},
		"an unpaired escape at the end":      {`{"jsonrpc":"2.0","id":1,"method":"ping\`, harness.CodeParse},
		"a string that never ends, 1 MiB":    {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1<<20), harness.CodeParse},
		"a number that goes on for 1 MiB":    {`{"jsonrpc":"2.0","method":"ping","id":1.` + strings.Repeat("1", 1<<20), harness.CodeParse},
		"a broken escape in the arguments":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"\x41"}}}`, harness.CodeParse},
		"an object key that is not a string": {`{"jsonrpc":"2.0","id":1,"method":"ping",1:2}`, harness.CodeParse},
		"a vertical tab between the tokens":  {"{\v\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", harness.CodeParse},
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		live := s.NewMember(t).Agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []harness.Agent{live, s.SandboxAgent()} {
					harness.CheckMalformed(t, a.Post(t, test.body), http.StatusBadRequest, test.code)
				}
			})
		}
	})
}

// TestGoodJSON: unusual but valid JSON is accepted.
func TestGoodJSON(t *testing.T) {
	tests := map[string]struct{ body, id string }{
		"white space around it":     {" \n{\"jsonrpc\" : \"2.0\", \"id\":1,\"method\":\"ping\"}\r\n ", "1"},
		"an escaped method":         {`{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, "1"},
		"an escaped key":            {`{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping"}`, "1"},
		"keys in another order":     {`{"method":"ping","id":1,"jsonrpc":"2.0"}`, "1"},
		"an unknown key":            {`{"jsonrpc":"2.0","id":1,"method":"ping","trace":{"a":[1]}}`, "1"},
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
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				got := s.SandboxAgent().Post(t, test.body)
				if got.Status != http.StatusOK {
					t.Fatalf("got %d %s", got.Status, got.Body)
				}
				if r := got.Reply(t); string(r.ID) != test.id || r.Error != nil {
					t.Errorf("got %s, want the id %s", got.Body, test.id)
				}
			})
		}
	})
}
