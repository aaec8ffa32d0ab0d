package arguments_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
	"github.com/kith-crm/kith/proto/catalog"
	_ "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
)

// check returns what is wrong with the arguments of a tool, as a call would learn it.
func check(t *testing.T, tool, body string) []arguments.Problem {
	t.Helper()
	checker, err := arguments.New()
	if err != nil {
		t.Fatal(err)
	}
	m := request(t, tool)
	var problems []arguments.Problem
	if protojson.Unmarshal([]byte(body), m) != nil {
		proto.Reset(m)
		problems, err = checker.CheckJSON(m, []byte(body), "2026-11-23")
	} else {
		problems, err = checker.Check(m, "2026-11-23")
	}
	if err != nil {
		t.Fatalf("%s %s: %v", tool, body, err)
	}
	return problems
}

// request returns an empty request of a tool.
func request(t *testing.T, tool string) proto.Message {
	t.Helper()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	rpc, ok := rpcs.Tool(tool)
	if !ok {
		t.Fatalf("there is no tool %s", tool)
	}
	service, method, _ := strings.Cut(strings.TrimPrefix(rpc.Procedure, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		t.Fatal(err)
	}
	input := found.(protoreflect.MethodDescriptor).Input()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return kind.New().Interface()
}

const (
	ana  = `"con_uy905wh117"`
	note = `"not_ya315cp429"`
)

// people returns a list of ids of connections.
func people(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"con_%d"`, i)
	}
	return "[" + strings.Join(ids, ",") + "]"
}

func TestWrongCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, body string
		want       []string
	}{
		{"search_connections", `{"query":"x","limit":51}`, []string{"limit must be between 1 and 50"}},
		{"search_connections", `{"query":"x","limit":"many"}`, []string{`limit must be a whole number between 1 and 50, not "many"`}},
		{"search_connections", `{"query":"x","limit":1.5}`, []string{"limit must be a whole number between 1 and 50, not 1.5"}},
		{"search_connections", `{"query":"x","limit":1e999}`, []string{"limit must be a whole number between 1 and 50, not 1e999"}},
		{"search_connections", `{"quary":"x"}`, []string{`"quary" is not an argument of this tool; did you mean "query"?`}},
		{"search_connections", `{"query":"x","lastContactAfter":"2026-01-01"}`, []string{`"lastContactAfter" is not an argument of this tool; did you mean "last_contact_after"?`}},
		{"search_connections", `{"city":"Lisbon","q":"x"}`, []string{`"city" is not an argument of this tool; did you mean "location"?`, `"q" is not an argument of this tool; did you mean "query"?`}},
		{"search_connections", `{"zodiac":"leo"}`, []string{`"zodiac" is not an argument of this tool; there are query, company, title, location, country, tag, group, has, missing, met_how, met_on_after, met_on_before, last_contact_after, last_contact_before, never_contacted, cadence_overdue and 20 more in tools/list`}},
		{"search_connections", `{"query":7}`, []string{"query must be a string, not 7"}},
		{"search_connections", `{"query":""}`, []string{"query must not be empty; leave it out instead"}},
		{"search_connections", `{"query":"x","query":"y"}`, []string{"query is given twice"}},
		{"search_connections", `{"query":"\ud800"}`, []string{"query has a character that is not valid Unicode"}},
		{"search_connections", `{"query":"` + strings.Repeat("x", 257) + `"}`, []string{"query must have at most 256 characters; it has 257"}},
		{"search_connections", `{"query":"x","mode":"psychic"}`, []string{"mode must be one of auto, keyword, semantic"}},
		{"search_connections", `{"query":"x","has":"fax"}`, []string{"has[0] must be one of email, phone, url, address, note, interaction, birthday, location, organization, title, tag, group, cadence, met_how"}},
		{"search_connections", `{"query":"x","has":7}`, []string{"has must be a list, not 7"}},
		{"search_connections", `{"query":"x","has":"[\"email\",7]"}`, []string{"has[1] must be a string, not 7"}},
		{"search_connections", `{"query":"x","has":["email",7,"fax"]}`, []string{"has[1] must be a string, not 7", "has[2] must be one of email, phone, url, address, note, interaction, birthday, location, organization, title, tag, group, cadence, met_how"}},
		{"search_connections", `{"query":"x","last_contact_after":"yesterday"}`, []string{"last_contact_after must be a day such as 2026-11-20; today is 2026-11-23"}},
		{"search_connections", `{"tag":"investor","birthday_between":["12/01","12-31"]}`, []string{"birthday_between[0] must be a day of the year such as 12-31"}},
		{"search_connections", `{"min_score":0.5}`, []string{"min_score needs a query: without one no hit has a score"}},
		{"set_cadence", `{"days":30}`, []string{"give either connection_ids or selection"}},
		{"search_connections", `[]`, []string{"the arguments must be an object, not a list"}},
		{"search_connections", `{"query":`, []string{"the arguments are not valid JSON"}},
		{"get_connection", `{"id":"Ana Lopez"}`, []string{"id must be the id of a connection: a name is not an id; search_connections returns ids such as con_k7m2qx"}},
		{"get_connection", `{"id":` + note + `}`, []string{"id must be the id of a connection; this is the id of a note, which update_note takes; search_connections returns ids such as con_k7m2qx"}},
		{"get_connection", `{"id":"con_KQ482"}`, []string{"id must be the whole id of a connection: con_ and up to 10 small letters and digits; search_connections returns ids such as con_k7m2qx"}},
		{"get_connection", `{}`, []string{"give either id or ids"}},
		{"get_connection", `{"connection_id":` + ana + `}`, []string{`"connection_id" is not an argument of this tool; did you mean "id"?`}},
		{"create_connection", `{"name":"Ana","emails":"ana"}`, []string{"emails[0] must be an e-mail address such as ana@example.com"}},
		{"create_connection", `{"name":"Ana","important_dates":{"kindd":"birthday","kind":"other","date":"1990"}}`, []string{`"kindd" is not a field of important_dates[0]; did you mean "kind"?`}},
		{"create_connection", `{"name":"Ana","emails":["ana"],"phones":["call me"],"urls":["ana.example"]}`, []string{
			"emails[0] must be an e-mail address such as ana@example.com", "phones[0] must be a phone number such as +49 30 1234567",
			"urls[0] must be a web address that begins with https:// or http://",
		}},
		{"create_connection", `{"name":"Ana","starred":"yes","met_on":"last week"}`, []string{
			`starred must be true or false, not "yes"`, "met_on must be a date such as 2026-11-20, 2026-11 or 2026, or empty; today is 2026-11-23",
		}},
		{"create_connection", `{"name":"Ana","important_dates":[{"kindd":"birthday","date":"1990"},"x"]}`, []string{
			`"kindd" is not a field of important_dates[0]; did you mean "kind"?`, `important_dates[1] must be an object, not "x"`,
			"important_dates[0].kind must be one of birthday, anniversary, other",
		}},
		{"create_connection", `{"name":"Ana","important_dates":[{"kind":"birthday","date":"May 17"}]}`, []string{
			"important_dates[0].date must be a date such as 1990-05-17, --05-17 without the year, 1990-05, 1990 or about 1990; today is 2026-11-23",
		}},
		{"update_connection", `{"id":` + ana + `,"expected_version":0}`, []string{"expected_version must be 1 or more"}},
		{"log_interaction", `{"connection_ids":[` + ana + `],"kind":"call","occurred_at":"yesterday"}`, []string{
			"occurred_at must be a day such as 2026-11-20 or a time such as 2026-11-20T15:04:05Z; today is 2026-11-23"}},
		{"log_interaction", `{"connection_ids":[` + ana + `],"kind":"call","occurred_at":"2026-11-20T15:04"}`, []string{
			"occurred_at must be a day such as 2026-11-20 or a time such as 2026-11-20T15:04:05Z; today is 2026-11-23"}},
		{"log_interaction", `{"connection_ids":` + ana + `,"kind":"chat","colour":"red","duration_minutes":-1}`, []string{
			`"colour" is not an argument of this tool; there are connection_ids, kind, occurred_at, summary, duration_minutes, external_key`,
			"kind must be one of meeting, call, email, message, event, intro, other", "duration_minutes must be between 0 and 10080",
		}},
		{"archive_connections", `{"ids":[` + ana + `,` + ana + `]}`, []string{"ids must not have an entry twice"}},
		{"archive_connections", `{"ids":[` + ana + `,` + note + `]}`, []string{"ids[1] must be the id of a connection; this is the id of a note, which update_note takes; search_connections returns ids such as con_k7m2qx"}},
		{"create_connection", `{"name":"Ana","tags":["` + strings.Repeat("t", 61) + `"]}`, []string{"tags[0] must have at most 60 characters; it has 61"}},
		{"add_note", `{"connection_ids":"[]","body":"x"}`, []string{"connection_ids is required"}},
		{"archive_connections", `{"ids":` + people(51) + `}`, []string{"ids must have at most 50 entries; there are 51; for more, pass the selection of a search_connections answer"}},
		{"archive_connections", `{"ids":[]}`, []string{"give either ids or selection"}},
		{"find_duplicates", `{"min_score":"high"}`, []string{`min_score must be a number between 0.4 and 1, not "high"`}},
		{"find_duplicates", `{"min_score":2}`, []string{"min_score must be between 0.4 and 1"}},
		{"list_groups", `{"all":true}`, []string{`"all" is not an argument of this tool; it takes none`}},
	} {
		var got []string
		for _, p := range check(t, c.tool, c.body) {
			got = append(got, p.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.body, diff)
		}
	}
}

// TestReadAsMeant: what models often send instead of what the contract says is read as it is meant.
func TestReadAsMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, meant, sent string }{
		{"search_connections", `{"tag":["investor"]}`, `{"tag":"investor"}`},
		{"search_connections", `{"tag":["a","b"]}`, `{"tag":"[\"a\",\"b\"]"}`},
		{"search_connections", `{"tag":["[a]"]}`, `{"tag":"[a]"}`},
		{"search_connections", `{"tag":["a","b"]}`, `{"tag":["a",null,"b"]}`},
		{"search_connections", `{"query":"x","limit":5}`, `{"query":"x","limit":"5","cursor":null,"tag":null}`},
		{"find_duplicates", `{"min_score":0.5}`, `{"min_score":"0.5"}`},
		{"get_connection", `{"ids":[` + ana + `]}`, `{"ids":` + ana + `}`},
		{"get_connection", `{"ids":[` + ana + `],"include":["notes"]}`, `{"ids":"[\"con_uy905wh117\"]","include":"notes"}`},
		{"create_connection", `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1990"}]}`, `{"name":"Ana","birthday":"1990"}`},
		{"update_connection", `{"id":` + ana + `,"add_important_dates":[{"kind":"birthday","date":"1990"}]}`, `{"id":` + ana + `,"birthday":"1990"}`},
		{"create_reminder", `{"text":"x","due_on":"2999-01-01","connection_ids":[` + ana + `]}`, `{"text":"x","due_on":"2999-01-01","connection_id":` + ana + `}`},
		{"set_cadence", `{"days":30,"connection_ids":[` + ana + `]}`, `{"cadence_days":30,"connection_id":` + ana + `}`},
		{"archive_connections", `{"ids":[` + ana + `]}`, `{"id":` + ana + `}`},
		{"create_connection", `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1990"}]}`, `{"name":"Ana","important_dates":{"kind":"birthday","date":"1990","label":null}}`},
		{"create_connection", `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1990"}]}`, `{"name":"Ana","important_dates":"[{\"kind\":\"birthday\",\"date\":\"1990\"}]"}`},
		{"create_connection", `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1990"}]}`, `{"name":"Ana","important_dates":"{\"kind\":\"birthday\",\"date\":\"1990\"}"}`},
	} {
		want, got := request(t, c.tool), request(t, c.tool)
		if err := protojson.Unmarshal([]byte(c.meant), want); err != nil {
			t.Fatal(err)
		}
		if protojson.Unmarshal([]byte(c.sent), got) != nil {
			proto.Reset(got)
			checker, err := arguments.New()
			if err != nil {
				t.Fatal(err)
			}
			if problems, err := checker.CheckJSON(got, []byte(c.sent), "2026-11-23"); len(problems) > 0 || err != nil {
				t.Errorf("%s %s: %v, %v", c.tool, c.sent, problems, err)
				continue
			}
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.sent, diff)
		}
	}
}

// Problems are at most 30 and one more, each of 300 characters at most.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	names := strings.Repeat("n", 500)
	var unknown []string
	for n := range 40 {
		unknown = append(unknown, fmt.Sprintf(`"%s%d":1`, names, n))
	}
	got := check(t, "create_connection", "{"+strings.Join(unknown, ",")+"}")
	if len(got) != 31 || got[30].Text != "and 10 more problems" {
		t.Errorf("%d problems, the last is %q", len(got), got[len(got)-1].Text)
	}
	for _, p := range got {
		if n := utf8.RuneCountInString(p.Text); n > 300 {
			t.Errorf("%d characters: %s", n, p.Text)
		}
	}
}

// Each rule of each request has words of its own, without the names of rules, types
// and patterns that protovalidate has for them.
func TestEachPatternHasWords(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, rpc := range rpcs.Tools() {
		fields := request(t, rpc.Tool.Name).ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			rules, err := protovalidate.ResolveFieldRules(fd)
			if err != nil || rules == nil {
				continue
			}
			body, pattern := fmt.Sprintf(`{%q:"?"}`, fd.Name()), rules.GetString().GetPattern()
			if fd.IsList() {
				body, pattern = fmt.Sprintf(`{%q:["?"]}`, fd.Name()), rules.GetRepeated().GetItems().GetString().GetPattern()
			}
			if pattern == "" {
				continue
			}
			got := check(t, rpc.Tool.Name, body)
			if len(got) == 0 || strings.Contains(got[0].Text, "pattern") || strings.Contains(got[0].Text, "[0-9") {
				t.Errorf("%s.%s: %v", rpc.Tool.Name, fd.Name(), got)
			}
		}
	}
}
