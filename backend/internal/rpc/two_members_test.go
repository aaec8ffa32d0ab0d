package rpc_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", examples); err != nil {
		panic(err)
	}
	m.Run()
}

// Two members call all tools in any order, with each other's ids, names and keys: no call
// changes or shows data of the other member, and another member's id gets the same answer
// as an id that does not exist.
func TestTwoMembersAtEveryTool(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s := newStage(t, p)
		rounds(t, 4, s.lacks, func(rt *rapid.T) {
			pair := s.pair(t)
			for step := range 90 {
				who := rapid.IntRange(0, 1).Draw(rt, "who")
				s.meddle(t, rt, pair[who], pair[1-who], s.pick(rt, s.picks, step))
			}
		})
	})
}

// rounds checks a slow property only enough times, which is less often than rapid would. While
// lacks returns something that was not covered, it runs more rounds, and fails after 60. rapid
// still shrinks a failure. With the race detector, which is ten times slower, it runs two rounds.
func rounds(t *testing.T, enough int, lacks func() []string, property func(rt *rapid.T)) {
	t.Helper()
	most := 60
	if raceDetector {
		enough, most, lacks = 2, 2, func() []string { return nil }
	}
	passed, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if !failed && passed >= enough && (passed >= most || len(lacks()) == 0) {
			return
		}
		done := false
		defer func() {
			if done {
				passed++
			} else {
				failed = true
			}
		}()
		property(rt)
		done = true
	})
	for _, lack := range lacks() {
		t.Error(lack)
	}
}

// stage is a backend with its database, and a count of what happened on it.
type stage struct {
	*paid
	*dumper

	tools, picks []*catalog.RPC
	inputs       map[string]*schema
	people       int                           // members made so far
	shown        map[tenant.ID]map[string]bool // traces on the pages that members show to members

	// How many calls of each tool succeeded (and wrote something, if it writes), and
	// how many answers for another member's ids were compared with those for unknown ids.
	succeeded, compared map[string]int
	conflicts           int // undos with conflicts
}

func newStage(t *testing.T, p *paid) *stage {
	t.Helper()
	return &stage{
		paid: p, dumper: newDumper(t, p.database, p.db), inputs: inputs(t, p.rpcs),
		tools: p.rpcs.Tools(), picks: picks(t, p.rpcs),
		shown: map[tenant.ID]map[string]bool{}, succeeded: map[string]int{}, compared: map[string]int{},
	}
}

// picks returns the tools to choose from. Tools that create people, and tools whose calls seldom
// succeed, are in the list several times.
func picks(t *testing.T, rpcs *catalog.Catalog) []*catalog.RPC {
	t.Helper()
	all := rpcs.Tools()
	for _, name := range []string{"create_connection", "merge_connections", "delete_connection", "undo_change"} {
		tool, ok := rpcs.Tool(name)
		if !ok {
			t.Fatalf("there is no tool %s", name)
		}
		all = append(all, tool, tool, tool)
	}
	return all
}

// pick chooses a tool. Adding the step offsets rapid's bias towards small numbers.
func (s *stage) pick(rt *rapid.T, from []*catalog.RPC, step int) *catalog.RPC {
	return from[(rapid.IntRange(0, len(from)-1).Draw(rt, "tool")+5*step)%len(from)]
}

// actor is a member on the stage.
type actor struct {
	*vocabulary

	tenant tenant.ID
	bearer string
	kept   string          // everything stored, when last read
	sent   map[string]bool // every id and mark that they sent
	last   *question       // their last call, if it read
}

// question is a reading call and its answer.
type question struct{ procedure, body, answer string }

// rowsOfBoth returns what is stored of two members, once the charges of reads are.
func (s *stage) rowsOfBoth(t *testing.T, one, two tenant.ID) (ofOne, ofTwo []row) {
	t.Helper()
	s.flush(t)
	return s.dumper.rowsOfBoth(t, one, two)
}

// rows is rowsOfBoth for one member.
func (s *stage) rows(t *testing.T, owner tenant.ID) []row {
	t.Helper()
	rows, _ := s.rowsOfBoth(t, owner, owner)
	return rows
}

// pair makes two members who have a bit of everything.
func (s *stage) pair(t *testing.T) [2]*actor {
	t.Helper()
	one, two := s.newActor(t), s.newActor(t)
	ofOne, ofTwo := s.rowsOfBoth(t, one.tenant, two.tenant)
	one.kept, two.kept = textOf(ofOne), textOf(ofTwo)
	one.learn(ofOne)
	two.learn(ofTwo)
	return [2]*actor{one, two}
}

func (s *stage) newActor(t *testing.T) *actor {
	t.Helper()
	s.people++
	a := &actor{vocabulary: newVocabulary(s.people), sent: map[string]bool{}}
	a.tenant = dbtest.Member(t, s.store, fmt.Sprintf("q%dx0z", s.people))
	a.keep("username", fmt.Sprintf("q%dx0z", s.people))
	a.bearer = dbtest.Token(t, s.store, a.tenant, s.rpcs.Scopes()...)
	s.show(t, a.tenant, account.Profile{
		Name: a.coin("name"), Headline: a.coin("headline"), Bio: a.coin("bio"), Organization: a.coin("organization"), LocationText: a.coin("location"),
		Skills: []string{a.coin("skills")}, Visibility: account.Members, Listed: true,
		FieldVisibility: map[string]account.Visibility{account.FieldHeadline: account.Members, account.FieldSkills: account.Public},
	})
	s.lookAtPage(t, a.tenant)
	var ids []string
	for range 4 {
		ids = append(ids, s.seed(t, a, create, "connection", fmt.Sprintf(
			`{"name":%q,"emails":[%q],"phones":[%q],"urls":[%q],"organization":%q,"title":%q,"tags":[%q],"bio":%q,"met_how":%q,"location":%q,`+
				`"met_on":"2020-02","starred":true,"important_dates":[{"kind":"birthday","date":"--11-25","label":%q}]}`,
			a.coin("name"), a.coin(kindEmail), a.coin(kindPhone), a.coin(kindURL), a.coin("organization"), a.coin("title"),
			a.coin(kindTag), a.coin("bio"), a.coin("met_how"), a.coin("location"), a.coin("label"))))
	}
	for i := range 2 {
		s.seed(t, a, addNote, "note", fmt.Sprintf(`{"connection_ids":[%q,%q],"body":%q,"pinned":true}`, ids[i], ids[i+1], a.coin("body")))
		s.seed(t, a, logCall, "interaction", fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","summary":%q,"external_key":%q}`, ids[i], a.coin("summary"), a.coin("external_key")))
		s.seed(t, a, createReminder, "reminder", fmt.Sprintf(`{"text":%q,"due_on":"2027-01-2%d","recurrence":"weekly","connection_id":%q}`, a.coin("text"), i, ids[i]))
		group := s.seed(t, a, saveGroup, "group", fmt.Sprintf(`{"name":%q,"description":%q,"cadence_days":%d}`, a.coin(kindGroup), a.coin("description"), 7*i))
		s.seed(t, a, updateMembership, "", fmt.Sprintf(`{"connection_ids":[%q,%q],"add_groups":[%q]}`, ids[i], ids[i+2], group))
	}
	s.seed(t, a, setCadence, "", fmt.Sprintf(`{"connection_ids":[%q],"days":30,"snooze_until":"2026-12-24"}`, ids[3]))
	s.seed(t, a, linkPeople, "", fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"manager"}`, ids[0], ids[1]))
	return a
}

// lookAtPage records what a member chose to show on their page.
func (s *stage) lookAtPage(t *testing.T, owner tenant.ID) {
	t.Helper()
	p, err := account.GetProfile(t.Context(), s.store, owner)
	if err != nil {
		t.Fatal(err)
	}
	p.Reduce(account.Members)
	s.shown[owner] = traces(p.Username, p.Name, p.Headline, strings.Join(p.Skills, " "))
}

func (s *stage) isShown(trace string) bool {
	for _, page := range s.shown {
		if page[trace] {
			return true
		}
	}
	return false
}

// seed makes something and returns its id.
func (s *stage) seed(t *testing.T, a *actor, procedure, object, body string) string {
	t.Helper()
	s.advance(time.Second) // no two objects are created at the same time
	got := s.call(t, procedure, body, "Authorization", "Bearer "+a.bearer)
	if got.code() != "" {
		t.Fatalf("%s %s: %v", procedure, body, got.body)
	}
	for trace := range traces(body) {
		a.sent[trace] = true
	}
	a.read(got.body)
	id, _ := got.at(object, "id").(string)
	return id
}

// meddle lets a member call a tool. Arguments with the other member's data are sent twice.
func (s *stage) meddle(t *testing.T, rt *rapid.T, caller, other *actor, tool *catalog.RPC) {
	t.Helper()
	// A custom generator keeps its single draws out of the report of a failure.
	body := rapid.Custom(func(rt *rapid.T) string { return s.request(rt, caller, other, tool.Tool.Name) }).Draw(rt, "arguments")
	if foreign := s.foreign(tool, body, caller, other); len(foreign) > 0 {
		s.compare(t, rt, caller, other, tool, body, foreign)
	} else {
		s.step(t, rt, caller, other, tool, body)
	}
	if tool.Writes {
		s.askAgain(t, rt, other)
	}
}

// compare sends arguments with unknown ids in place of the other member's, and then
// unchanged.
func (s *stage) compare(t *testing.T, rt *rapid.T, caller, other *actor, tool *catalog.RPC, body string, foreign []string) {
	t.Helper()
	want := s.step(t, rt, caller, other, tool, withUnknown(body, foreign))
	got := s.step(t, rt, caller, other, tool, body)
	if wrote(want) {
		return // the first call changed something, so the second answer may differ
	}
	if strings.Contains(want.text(), "cursor: is not one that these arguments gave") {
		return // the cursor belongs to the other arguments
	}
	s.compared[tool.Tool.Name]++
	is, wanted := suggestions.ReplaceAllString(withUnknown(got.text(), foreign), ""), suggestions.ReplaceAllString(want.text(), "")
	if diff := cmp.Diff(wanted, is); diff != "" || got.status != want.status {
		rt.Fatalf("%s answers differently for another member's ids than for unknown ones:\n%s\n%s", tool.Tool.Name, body, diff)
	}
}

// askAgain repeats the last read of the other member. Its answer must not have changed, not even
// in a number.
func (s *stage) askAgain(t *testing.T, rt *rapid.T, a *actor) {
	t.Helper()
	if a.last == nil {
		return
	}
	got := s.call(t, a.last.procedure, a.last.body, "Authorization", "Bearer "+a.bearer)
	if diff := cmp.Diff(ageless(a.last.answer), ageless(got.text())); diff != "" {
		rt.Fatalf("the answer to %s %s changed after another member's call:\n%s", a.last.procedure, a.last.body, diff)
	}
	a.kept = textOf(s.rows(t, a.tenant)) // the call was charged
}

// retryAfter matches the waiting time before a job is read again, which grows with its age.
var retryAfter = regexp.MustCompile(`"retry_after":[0-9]+`)

func ageless(answer string) string { return retryAfter.ReplaceAllString(answer, `"retry_after":0`) }

// request draws arguments for a tool: new ones, or those for the next page of a
// list that one of the two has read.
func (s *stage) request(rt *rapid.T, caller, other *actor, tool string) string {
	dataOwner := rapid.SampledFrom([]dataOwner{callersData, othersData, callersData, mixed}).Draw(rt, "dataOwner")
	pages := caller.pages[tool]
	if dataOwner == othersData {
		pages = other.pages[tool]
	}
	if len(pages) > 0 && rapid.IntRange(0, 2).Draw(rt, "next page") == 0 {
		return rapid.SampledFrom(pages).Draw(rt, "page")
	}
	asks := &speaker{rt: rt, own: caller.vocabulary, others: other.vocabulary, dataOwner: dataOwner}
	return asks.arguments(tool, s.inputs[tool])
}

// foreign returns the ids and marks in a text that the other member has and the caller
// does not (the caller has them too after sending them in a text). It leaves out unknown
// ids, which the other may have stored as a word, and traces whose unknown replacement
// (withUnknown) the caller has stored. Marks are left out for tools that match similar
// spellings, and in the directory.
func (s *stage) foreign(tool *catalog.RPC, body string, caller, other *actor) []string {
	found := idsIn(body)
	exact := tool.Tool.Group != "directory"
	for _, field := range []string{"query", "entries", "topic", "organization"} {
		exact = exact && s.inputs[tool.Tool.Name].Properties[field] == nil
	}
	if exact {
		found = append(found, marksIn(body)...)
	}
	var out []string
	for _, trace := range found {
		if isUnknown(trace) || strings.Contains(caller.kept, withUnknown(trace, []string{trace})) {
			continue
		}
		if strings.Contains(other.kept, trace) && !strings.Contains(caller.kept, trace) && !slices.Contains(out, trace) {
			out = append(out, trace)
		}
	}
	return out
}

// isUnknown reports whether no object can have the id.
func isUnknown(id string) bool { return strings.HasSuffix(id, unknownID) }

// withUnknown replaces traces of the other member with unknown ones.
func withUnknown(text string, foreign []string) string {
	for _, trace := range foreign {
		duplicate := "k" + trace[1:len(trace)-1] + "k"
		switch {
		case isID(trace):
			duplicate = trace[:len(trace)-5] + "zz999"
		case strings.HasPrefix(trace, phonePrefix):
			duplicate = trace // numbers must stay numbers
		}
		text = strings.ReplaceAll(text, trace, duplicate)
	}
	return text
}

// suggestions matches the part of an error that lists the caller's own names with similar
// spelling.
var suggestions = regexp.MustCompile(`; nearest: [^}]*\\"`)

// step makes one call and checks the data of both members.
func (s *stage) step(t *testing.T, rt *rapid.T, caller, other *actor, tool *catalog.RPC, body string) answer {
	t.Helper()
	rt.Logf("member %d: %s %s", caller.serial, tool.Tool.Name, body)
	s.advance(time.Second)
	got := s.call(t, tool.Procedure, body, "Authorization", "Bearer "+caller.bearer)
	if done := got.code() == "" && (!tool.Writes || wrote(got)); done {
		s.succeeded[tool.Tool.Name]++
	} else if got.code() == "internal" || got.code() == "unavailable" || got.code() == "unknown" {
		rt.Fatalf("%s %s: %v", tool.Tool.Name, body, got.body)
	}
	caller.turn(tool.Tool.Name, body, got)
	ofCaller, ofOther := s.rowsOfBoth(t, caller.tenant, other.tenant)
	if after := textOf(ofOther); after != other.kept {
		rt.Fatalf("%s %s changed another member's data:\n%s", tool.Tool.Name, body, cmp.Diff(strings.Split(other.kept, "\n"), strings.Split(after, "\n")))
	}
	for trace := range traces(body) {
		caller.sent[trace] = true
	}
	s.judge(t, rt, caller, other, tool.Tool.Name+" "+body, got, ofCaller)
	caller.last = nil
	// In the directory, a member may see changes by another one.
	if !tool.Writes && tool.Tool.Group != "directory" {
		caller.last = &question{procedure: tool.Procedure, body: body, answer: got.text()}
	}
	return got
}

// judge fails if an answer, or the stored data of the caller, has data of another member.
func (s *stage) judge(t *testing.T, rt *rapid.T, caller, other *actor, request string, got answer, rows []row) {
	t.Helper()
	after := textOf(rows)
	for trace := range traces(got.text()) {
		known := strings.Contains(after, trace) || strings.Contains(caller.kept, trace) || strings.Contains(request, trace)
		if !known && !s.isShown(trace) {
			rt.Fatalf("%s shows %s: %s", request, trace, got.text())
		}
	}
	caller.read(got.body)
	if caller.kept == after {
		return
	}
	for trace := range traces(after) {
		if !caller.sent[trace] && !strings.Contains(caller.kept, trace) && strings.Contains(other.kept, trace) {
			rt.Fatalf("%s stored %s for a member who never sent it", request, trace)
		}
	}
	caller.kept = after
	caller.learn(rows)
	s.lookAtPage(t, caller.tenant)
}

// wrote reports whether a call changed something: at once, or by a job.
func wrote(got answer) bool {
	return got.at("change_id") != nil || got.at("task_id") != nil || got.at("job", "job_id") != nil
}

// lacks returns what the calls so far don't cover: each tool must have succeeded once,
// and each that takes ids must have been tried with another member's.
func (s *stage) lacks() []string {
	var out []string
	for _, tool := range s.tools {
		name := tool.Tool.Name
		if s.succeeded[name] == 0 {
			out = append(out, "no call of "+name+" succeeded: teach the generator how to")
		}
		if s.compared[name] == 0 && strings.Contains(string(tool.Tool.BoundedSchema), "_[0-9a-z]{1,10}") {
			out = append(out, name+" was never called with another member's ids")
		}
	}
	return out
}
