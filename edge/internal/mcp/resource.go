package mcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The resources: each is the answer of a tool, with the tool's scope and price.
const (
	uriToday       = "kith://today"
	uriPeople      = "kith://people/"
	templatePerson = uriPeople + "{id}"
	toolToday      = "list_due"
	toolPerson     = "get_connection"
)

// resourceJSON is MCP's Resource or ResourceTemplate (2025-06-18, "Resources").
type resourceJSON struct {
	URI         string `json:"uri,omitzero"`
	Template    string `json:"uriTemplate,omitzero"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MediaType   string `json:"mimeType"`
}

// listResources answers resources/list, and resources/templates/list if templates is set, with what
// the caller may read.
func (e *endpoint) listResources(c *call, templates bool) (jsontext.Value, *failure) {
	if f := onePage(c.params); f != nil {
		return nil, f
	}
	key, tool := "resources", toolToday
	shown := resourceJSON{URI: uriToday, Name: "today", Title: "Today", Description: "What is due today: reminders, birthdays and people to get back to."}
	if templates {
		key, tool = "resourceTemplates", toolPerson
		shown = resourceJSON{Template: templatePerson, Name: "person", Title: "A person", Description: "A person in full, with the latest notes and interactions."}
	}
	shown.MediaType = "application/json"
	list := []resourceJSON{}
	if e.showsTool(c, tool) {
		list = append(list, shown)
	}
	return encode(map[string]any{key: list}), nil
}

// readResource answers resources/read with the answer of the tool that reads it.
func (e *endpoint) readResource(ctx context.Context, c *call) (jsontext.Value, *failure) {
	uri := ""
	if c.params.uri.Kind() == '"' {
		uri = unquote(c.params.uri)
	}
	id, isPerson := strings.CutPrefix(uri, uriPeople)
	switch {
	case c.params.fault != "": // callTool reports it
	case uri == uriToday:
		c.params.name, c.params.arguments = encode(toolToday), jsontext.Value(`{"days":0,"limit":50}`)
	case isPerson && id != "":
		if unescaped, err := url.PathUnescape(id); err == nil {
			id = unescaped
		}
		c.params.name = encode(toolPerson)
		c.params.arguments = encode(map[string]any{"id": id, "include": []string{"notes", "interactions"}})
	default:
		_, _, f := e.refuseCall(ctx, c, nil, noResource(uri))
		return nil, f
	}
	result, f := e.callTool(ctx, c)
	if f != nil {
		return nil, f
	}
	var answer struct {
		Content []contentJSON `json:"content"`
		IsError bool          `json:"isError"`
	}
	if json.Unmarshal(result, &answer) != nil || len(answer.Content) == 0 {
		return nil, noResource(uri)
	}
	if answer.IsError {
		f := noResource(uri)
		f.message = answer.Content[0].Text
		return nil, f
	}
	type contentsJSON struct {
		URI       string `json:"uri"`
		MediaType string `json:"mimeType"`
		Text      string `json:"text"`
	}
	return encode(map[string]any{"contents": []contentsJSON{{uri, "application/json", answer.Content[0].Text}}}), nil
}

// noResource is MCP's error for a resource that does not exist, or that cannot be read.
func noResource(uri string) *failure {
	f := answerError(codeNoResource, "There is no resource "+quoted(uri)+"; resources/list and resources/templates/list have all.")
	f.data = encode(map[string]string{"uri": uri})
	return f
}
