package main

import (
	"fmt"
	"net/http"
	"strings"
)

// post returns a tool call; header lines end in CRLF.
func post(bearer, tool, arguments, holds, header string) call {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	return call{
		sent: fmt.Appendf(nil, "POST /mcp/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18\r\n"+
			"Authorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n%s", bearer, header, len(body), body),
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
