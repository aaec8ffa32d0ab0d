package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// call is one request and the expected response.
type call struct {
	method, path, body string
	header             http.Header
	status             int
	holds              string // must be in the body
	times              int    // how often at least, if more than once
	// keep is called with the body of the right response; it may be nil.
	keep func(body []byte) error
}

// client keeps connections open, and does not ask for compression, which would be part of the
// measured cost.
var client = &http.Client{
	Timeout:       20 * time.Second,
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1 << 10, IdleConnTimeout: 10 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send makes the call and returns the response's body and header. It fails unless the response is the
// expected one.
func (c call) send(addr string) (body []byte, header http.Header, err error) {
	req, err := http.NewRequest(c.method, "http://"+addr+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, nil, err
	}
	req.Host, req.Header = "localhost", c.header
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if body, err = io.ReadAll(res.Body); err != nil {
		return nil, nil, err
	}
	if res.StatusCode != c.status || bytes.Count(body, []byte(c.holds)) < max(c.times, 1) {
		return nil, nil, fmt.Errorf("%s %s: %d, wanted %d with %q: %.500s\n%.300s", c.method, c.path, res.StatusCode, c.status, c.holds, body, c.body)
	}
	if c.keep != nil {
		err = c.keep(body)
	}
	return body, res.Header, err
}

// with adds a header field.
func (c call) with(name, value string) call {
	c.header.Set(name, value)
	return c
}

// get returns a GET request.
func get(path, holds string) call {
	return call{method: http.MethodGet, path: path, header: http.Header{}, status: http.StatusOK, holds: holds}
}

// page returns a request for a page, with the session of a signed-in browser.
func page(path, session, holds string) call {
	return get(path, holds).with("Cookie", "kith_session="+session)
}

// postJSON returns a POST request with a JSON body.
func postJSON(path, body, holds string) call {
	return call{method: http.MethodPost, path: path, body: body, header: http.Header{"Content-Type": {"application/json"}}, status: http.StatusOK, holds: holds}
}

// mcp returns a message to the MCP server.
func mcp(bearer, message, holds string) call {
	return postJSON("/mcp/v1", message, holds).with("Accept", "application/json, text/event-stream").
		with("MCP-Protocol-Version", "2025-06-18").with("Authorization", "Bearer "+bearer)
}

// tool returns a tool call.
func tool(bearer, name, arguments, holds string) call {
	return mcp(bearer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`, holds)
}

// listing returns a request for the list of tools.
func listing(bearer string) call {
	return mcp(bearer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"search_connections"`)
}

// search returns a search call; the answer must contain a person whose name starts with wanted.
func search(bearer, query, wanted string) call {
	return tool(bearer, "search_connections", `{"query":"`+query+`"}`, `"name":"`+wanted)
}

// read returns a call that reads a person.
func read(bearer string, p person) call {
	return tool(bearer, "get_connection", `{"id":"`+p.id+`","include":["positions","notes","interactions"]}`, `"name":"`+p.name()+`"`)
}

// note returns a call that adds a note to a person.
func note(bearer string, p person) call {
	return tool(bearer, "add_note", `{"connection_ids":["`+p.id+`"],"body":"Likes tea, and asks for the paper on tides."}`, `"change_id":"chg_`)
}

// create returns a call that creates a new person.
func create(bearer string, n int) call {
	return tool(bearer, "create_connection",
		fmt.Sprintf(`{"name":"Newcomer %d","organization":"Works 7","title":"Engineer","emails":["newcomer.%d@people.example"]}`, n, n), `"change_id":"chg_`)
}
