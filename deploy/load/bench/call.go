package main

import (
	"fmt"
	"net/http"
	"strings"
)

// post returns a tool call; header lines end in CRLF.
func post(bearer, tool, arguments, holds, header string) call {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	return postTo("/mcp/v1", bearer, body, holds, header)
}

// listing returns a request for the list of tools.
func listing(bearer string) call {
	return postTo("/mcp/v1", bearer, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"search_connections"`, "")
}

// postTo returns a POST request with a JSON body, as MCP clients send it.
func postTo(path, bearer, body, holds, header string) call {
	if bearer != "" {
		header += "Authorization: Bearer " + bearer + "\r\n"
	}
	return request(path, "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"+header, body, holds)
}

// postForm returns a POST request with a form.
func postForm(path, form, holds, header string) call {
	return request(path, "Content-Type: application/x-www-form-urlencoded\r\n"+header, form, holds)
}

func request(path, header, body, holds string) call {
	return call{
		sent:   fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", path, header, len(body), body),
		status: http.StatusOK, holds: holds,
	}
}

// search returns a search call; the answer must contain a person whose name starts with
// wanted.
func search(bearer, query, wanted string) call {
	return post(bearer, "search_connections", `{"query":"`+query+`"}`, `"name":"`+wanted, "")
}

// read returns a call that reads a person.
func read(bearer string, p person) call {
	return post(bearer, "get_connection", `{"id":"`+p.id+`","include":["positions","notes","interactions"]}`, `"name":"`+p.name()+`"`, "")
}

// note returns a call that adds a note to a person.
func note(bearer string, p person, header string) call {
	return post(bearer, "add_note", `{"connection_ids":["`+p.id+`"],"body":"Likes tea, and asks for the paper on tides."}`, `"change_id":"chg_`, header)
}

// create returns a call that creates a new person.
func create(bearer string, n int, header string) call {
	return post(bearer, "create_connection",
		fmt.Sprintf(`{"name":"Newcomer %d","organization":"Works 7","title":"Engineer","emails":["newcomer.%d@people.example"]}`, n, n), `"change_id":"chg_`, header)
}

// misspelt returns the name with two letters of the surname swapped.
func (p person) misspelt() string {
	letters := []rune(p.surname)
	letters[2], letters[3] = letters[3], letters[2]
	return p.given + " " + string(letters)
}

// beginning returns the start of the name, as typed in a search field.
func (p person) beginning() string { return p.given + " " + string([]rune(p.surname)[:4]) }

// get returns a GET request; header lines end in CRLF.
func get(path, header string, status int, holds string) call {
	var b strings.Builder
	b.WriteString("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")
	return call{sent: []byte(b.String()), status: status, holds: holds}
}
