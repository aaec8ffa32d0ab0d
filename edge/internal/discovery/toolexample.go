package discovery

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/schema"
	"github.com/kith-crm/kith/edge/internal/route"
)

// plausible returns values for examples, by the name of the argument. A value that a
// tool's schema does not allow is ignored.
func plausible() map[string][]any {
	return map[string][]any{
		"query": {"climate"}, "company": {"Halden Systems"}, "organization": {"Halden Systems"}, "entries": {"Dominic Carrow"}, "name": {"Søren Kjær", "Investors"},
		"title": {"Founder"}, "headline": {"Founder at Helios"}, "location": {"Copenhagen"}, "met_how": {"Introduced by Ada at a meetup"},
		"emails": {"soren@helios.example"}, "email": {"soren@helios.example"}, "add_emails": {"soren@helios.example"},
		"phones": {"+45 12 34 56 78"}, "urls": {"https://helios.example/"}, "url": {"https://helios.example/"},
		"tags": {"climate"}, "add_tags": {"climate"}, "remove_tags": {"prospect"}, "tag": {"climate"},
		"body": {"Prefers mornings. Looking for a partner in Lagos."}, "summary": {"Coffee about the seed round"},
		"kind": {"meeting", "file_import"}, "occurred_at": {"2026-01-31T09:00:00Z"}, "met_on": {"2026-01-31"},
		"since": {"2026-01-01"}, "until": {"2026-02-01"}, "due_on": {"2030-02-14"}, "due_at": {"2026-02-14T09:00:00Z"},
		"text": {"Send the deck"}, "note": {"Send the deck"}, "limit": {5}, "per_page": {5}, "days": {30}, "cadence_days": {90},
		"filename": {"contacts.csv"}, "content": {"Name,E-mail\nAda Okafor,ada@example.com\n"}, "task_id": {1}, "wait_seconds": {20},
		"from_ids": {"con_01ARZ3NDEKTSV4RRFFQ69G5FAW"}, "timezone": {"Europe/Copenhagen"},
		"username": {"demo"}, "duration_minutes": {45}, "question": {"Who works on storage?"}, "topic": {"energy storage"},
	}
}

// shown returns the optional arguments that a tool's example has, because the required
// arguments alone would explain little.
func shown(tool string) []string {
	return map[string][]string{
		"create_connection":  {"name", "organization", "tags"},
		"update_connection":  {"title", "add_tags"},
		"log_interaction":    {"summary"},
		"update_interaction": {"summary"},
		"update_reminder":    {"due_on"},
		"list_timeline":      {"limit"},
		"import_file":        {"filename", "content"},
		"prepare_meeting":    {"connection_ids"},
		"undo_change":        {"change_id"},

		"archive_connections": {"ids"},
		"merge_connections":   {"into_id", "from_ids"},
		"save_group":          {"name"},
		"set_cadence":         {"connection_ids", "days"},
		"update_membership":   {"connection_ids", "add_tags"},
		"update_my_profile":   {"headline"},
		"update_my_settings":  {"timezone"},
	}[tool]
}

// examples makes an example request for each tool.
type examples struct {
	site   *site
	values schema.Values
	// ready are the arguments of ready-made requests, by tool.
	ready map[string]jsontext.Value
}

func newExamples(s *site) *examples {
	x := &examples{site: s, values: schema.Values{Named: plausible()}, ready: map[string]jsontext.Value{}}
	for _, q := range s.Requests {
		call, ok := toolCall(q)
		if !ok {
			continue
		}
		if _, there := x.ready[call.Name]; !there {
			x.ready[call.Name] = call.Arguments
		}
		var arguments map[string]any
		if json.Unmarshal(call.Arguments, &arguments) == nil {
			x.learn(arguments)
		}
	}
	return x
}

// learn keeps the strings of a ready-made request, because they include existing ids.
func (x *examples) learn(arguments map[string]any) {
	for _, value := range arguments {
		if text, ok := value.(string); ok {
			x.values.Strings = append(x.values.Strings, text)
		}
	}
}

// arguments returns valid arguments of the tool: those of a ready-made request if there
// is one.
func (x *examples) arguments(tool *catalog.Tool, s *schema.Schema) (jsontext.Value, error) {
	if ready, ok := x.ready[tool.Name]; ok && s.Allows(ready) {
		return ready, nil
	}
	made, err := s.Example(x.values, shown(tool.Name)...)
	if err != nil {
		return nil, fmt.Errorf("make an example of %s: %w", tool.Name, err)
	}
	text, err := json.Marshal(made, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("make an example of %s: %w", tool.Name, err)
	}
	return text, nil
}

// request returns the call of a tool with the arguments: on the demo account if
// the tool only reads and there is one, else on the caller's own data. The demo account has no jobs.
func (x *examples) request(rpc *catalog.RPC, arguments jsontext.Value) (request, error) {
	body, err := json.Marshal(newCall(rpc.Tool.Name, arguments))
	if err != nil {
		return request{}, fmt.Errorf("make an example of %s: %w", rpc.Tool.Name, err)
	}
	q := request{Method: "POST", Path: route.PathMCPCurrent, Body: string(body), Bearer: true}
	if !rpc.Writes && rpc.Tool.Name != "get_job" && x.site.serves(route.PathMCPSandbox) {
		q.Path, q.Bearer = route.PathMCPSandbox, false
	}
	return q, nil
}
