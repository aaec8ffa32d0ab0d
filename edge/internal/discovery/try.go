package discovery

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// callJSON is the body of a tools/call.
type callJSON struct {
	Version string     `json:"jsonrpc"`
	ID      int        `json:"id"`
	Method  string     `json:"method"`
	Params  paramsJSON `json:"params"`
}

type paramsJSON struct {
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

const methodCallTool = "tools/call"

func newCall(tool string, arguments jsontext.Value) callJSON {
	return callJSON{Version: "2.0", ID: 1, Method: methodCallTool, Params: paramsJSON{Name: tool, Arguments: arguments}}
}

// toolCall returns the tool and the arguments of a ready-made request if it calls
// tools/call.
func toolCall(q sandbox.Request) (paramsJSON, bool) {
	var call callJSON
	if q.Body == "" || json.Unmarshal([]byte(q.Body), &call) != nil {
		return paramsJSON{}, false
	}
	return call.Params, call.Method == methodCallTool && call.Params.Name != ""
}

// try is a request on the landing page. A visitor can change one value of it.
type try struct {
	ID    string // the prefix of its elements' ids
	Title string
	// Intro says what the request returns.
	Intro string
	request

	Curl string
	// Label and Value are those of the form field; without a label there is no field.
	Label, Value string
	// Pattern is the path with valueMark in place of the value; "" if the path does not contain it.
	Pattern string
	// Argument is the tool's argument that the value sets; "" if it sets none.
	Argument string
}

// valueMark is the placeholder of the visitor's value in a path.
const valueMark = "{}"

// tries returns the requests to try: from the ready-made ones, the first profile,
// the first search in the directory and the first call of a tool.
func (s *site) tries() []try {
	var tries []try
	seen := map[string]bool{}
	for _, q := range s.Requests {
		t, ok := s.try(q)
		if !ok || seen[t.ID] {
			continue
		}
		seen[t.ID] = true
		t.request = request{Request: q}
		t.Title, t.Curl = q.Title, t.curl(s.BaseURL)
		tries = append(tries, t)
	}
	return tries
}

// try returns a ready-made request as one of the three kinds, false for any other.
func (s *site) try(q sandbox.Request) (try, bool) {
	r, ok := s.routeAt(q.Path)
	if !ok {
		return try{}, false
	}
	if r.Protocol == route.MCP {
		return tryTool(q)
	}
	switch r.Original() {
	case publicapi.RouteProfile:
		return tryProfile(q, r.Pattern)
	case publicapi.RouteMembers:
		return tryDirectory(q)
	default:
		return try{}, false
	}
}

func tryProfile(q sandbox.Request, pattern string) (try, bool) {
	prefix, _, _ := strings.Cut(pattern, "{")
	return try{
		ID: "profile", Intro: "A member's public profile as JSON. Add .md to the username to get Markdown.",
		Label: "Username", Value: strings.TrimPrefix(q.Path, prefix), Pattern: prefix + valueMark,
	}, true
}

func tryDirectory(q sandbox.Request) (try, bool) {
	path, raw, _ := strings.Cut(q.Path, "?")
	query, err := url.ParseQuery(raw)
	if err != nil || !query.Has("q") {
		return try{}, false
	}
	value := query.Get("q")
	query.Del("q")
	pattern := path + "?q=" + valueMark
	if rest := query.Encode(); rest != "" {
		pattern += "&" + rest
	}
	return try{
		ID: "directory", Intro: "Searches the members who chose to be listed.",
		Label: "Search words", Value: value, Pattern: pattern,
	}, true
}

// tryTool returns a call as a try, if the call has an argument "query".
func tryTool(q sandbox.Request) (try, bool) {
	call, ok := toolCall(q)
	var arguments map[string]any
	if !ok || json.Unmarshal(call.Arguments, &arguments) != nil {
		return try{}, false
	}
	value, ok := arguments["query"].(string)
	if !ok {
		return try{}, false
	}
	return try{
		ID: "tool", Intro: "Calls the tool " + call.Name + " as an agent does: JSON-RPC by POST, without a session or a credential.",
		Label: "Query", Value: value, Argument: "query",
	}, true
}
