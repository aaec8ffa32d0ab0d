package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

// asking is a backend whose agent asks first, with the workers of its jobs.
type asking struct {
	*paid

	token string // the id of the agent's token
	queue *job.Queue
	work  func(ctx context.Context, run *job.Run) (any, error)
}

// eachAsking calls test on each database, with an agent that asks before acts of the kinds.
func eachAsking(t *testing.T, asks string, test func(t *testing.T, a *asking)) {
	t.Helper()
	eachPaid(t, 100, func(t *testing.T, p *paid) { test(t, newAsking(t, p, asks)) })
}

func newAsking(t *testing.T, p *paid, asks string) *asking {
	t.Helper()
	a := &asking{paid: p, queue: job.NewQueue(p.store, p.credits)}
	var err error
	options := optionsOf(p.rpcs, p.store, p.credits, p.time, vector.Local{}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if a.work, err = rpc.NewDecisions(options); err != nil {
		t.Fatal(err)
	}
	tokens, err := account.ListPersonalTokens(t.Context(), p.store, p.member)
	if err != nil {
		t.Fatal(err)
	}
	a.token = tokens[0].ID
	a.asks(t, asks)
	return a
}

func (a *asking) asks(t *testing.T, asks string) {
	t.Helper()
	if err := account.SetTokenAsks(t.Context(), a.store, a.member, a.token, tenant.ParseAsks(asks)); err != nil {
		t.Fatal(err)
	}
}

// person adds a person while the agent asks nothing, and returns their id.
func (a *asking) person(t *testing.T, name string) string {
	t.Helper()
	made := a.call(t, create, `{"name":"`+name+`"}`)
	id, _ := made.at("connection", "id").(string)
	if id == "" {
		t.Fatalf("%v", made.body)
	}
	return id
}

func deletionOf(id, name string) string { return fmt.Sprintf(`{"id":%q,"confirm_name":%q}`, id, name) }

// wantAsked checks that a call waits for the member, and returns the number of its job.
func (a *asking) wantAsked(t *testing.T, got answer, says string) int32 {
	t.Helper()
	if got.code() != "failed_precondition" || !strings.HasPrefix(got.message(), "approval_needed: ") || !strings.Contains(got.message(), says) {
		t.Fatalf("%d %v", got.status, got.body)
	}
	debug, _ := got.at("details", 0, "debug").(map[string]any)
	number, _ := debug["task_id"].(float64)
	if number == 0 || got.header.Get(connectheader.CreditsCharged) != "" || debug["decide_url"] != "https://kith.example/decide" || debug["expires_at"] == nil {
		t.Fatalf("%v, charged %q", got.body, got.header.Get(connectheader.CreditsCharged))
	}
	return int32(number)
}

// waiting returns the decisions that the member has not made yet.
func (a *asking) waiting(t *testing.T) []decision.Decision {
	t.Helper()
	list, err := decision.ListWaiting(t.Context(), a.data())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (a *asking) data() *db.Tenant { return a.store.Tenant(a.member, false) }

// decide makes a decision, as the page does.
func (a *asking) decide(ctx context.Context, id string, approve bool) error {
	return a.data().Write(ctx, db.Actor{Tool: "decide"}, func(ctx context.Context, tx *db.Tx) error {
		_, err := decision.Decide(ctx, tx, id, approve)
		return err
	})
}

func (a *asking) approve(t *testing.T) {
	t.Helper()
	if err := a.decide(t.Context(), a.waiting(t)[0].ID, true); err != nil {
		t.Fatal(err)
	}
}

// run runs a worker until no job is due.
func (a *asking) run(t *testing.T) {
	t.Helper()
	runner := job.NewRunner(job.Config{
		Queue: a.queue, Workers: 1, Poll: time.Millisecond, Now: a.time, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Kinds: []job.Kind{{Name: decision.JobKind, Run: a.work}, importer.Kind(a.store, a.credits)},
	})
	runner.Start(t.Context())
	defer runner.Stop(context.Background())
	for {
		counts, err := a.queue.CountJobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		due := 0
		for _, c := range counts {
			if c.State != "scheduled" {
				due += c.Count
			}
		}
		if due == 0 {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the jobs do not end")
		}
	}
}

// job reads a job as the agent does.
func (a *asking) job(t *testing.T, number int32) answer {
	t.Helper()
	return a.call(t, getJob, fmt.Sprintf(`{"task_id":%d}`, number))
}

// wantFailed checks that a job failed with a code.
func (a *asking) wantFailed(t *testing.T, number int32, code string) {
	t.Helper()
	got := a.job(t, number)
	if got.at("job", "state") != "failed" || got.at("job", "error", "code") != code {
		t.Errorf("want %s: %v", code, got.body)
	}
}

func (a *asking) exists(t *testing.T, id string) bool {
	t.Helper()
	return a.call(t, get, `{"id":"`+id+`"}`).code() == ""
}

// state returns the state of the only decision.
func (a *asking) state(t *testing.T) string {
	t.Helper()
	list, err := decision.List(t.Context(), a.data())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d decisions, %v", len(list), err)
	}
	d := list[0]
	if ended := d.State != decision.Waiting && d.State != decision.Approved; ended == (d.Arguments != "" || d.Preview.Summary != "") {
		t.Errorf("%s: it stores %q and %q", d.State, d.Arguments, d.Preview.Summary)
	}
	return d.State
}

// A call is checked at once. When it is approved, it is made once, as the agent, for its price.
func TestAskFirst(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Grace Hopper")
		before := a.count(t, "changes", "1 = 1")
		if wrong := a.call(t, deletePerson, deletionOf(id, "Ada")); wrong.code() != "invalid_argument" {
			t.Errorf("a wrong name is not refused at once: %v", wrong.body)
		}
		if none := a.call(t, deletePerson, deletionOf("con_ch541ck879", "Ada")); none.code() != "" || none.at("deleted") == true {
			t.Errorf("nothing to delete: %v", none.body)
		}
		a.wantBalance(t, 100-2-1)
		number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Grace Hopper")), `https://kith.example/decide: "delete Grace Hopper". Do not`)
		if again := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Grace Hopper")), `https://kith.example/decide: "delete Grace Hopper". Do not`); again != number {
			t.Errorf("job %d, then %d", number, again)
		}
		a.wantBalance(t, 100-2-1)
		if !a.exists(t, id) || a.count(t, "changes", "1 = 1") != before || a.state(t) != decision.Waiting {
			t.Error("something was done already")
		}
		waits := a.waiting(t)[0]
		got := a.job(t, number)
		if got.at("job", "state") != "queued" || got.at("job", "kind") != "decision" || got.at("next") != nil || got.at("job", "waiting_for_member") != true ||
			got.at("job", "decide_url") != "https://kith.example/decide" || got.at("job", "retry_after") != 60.0 || got.at("job", "expires_at") != waits.ExpiresAt.UTC().Format(time.RFC3339Nano) {
			t.Errorf("%v", got.body)
		}
		a.run(t) // it is not due
		a.approve(t)
		a.run(t)
		done := a.job(t, number)
		if done.at("job", "state") != "succeeded" || done.at("job", "result", "deleted") != true || done.at("job", "waiting_for_member") != nil {
			t.Fatalf("%v", done.body)
		}
		changes, err := history.ListChanges(t.Context(), a.data(), history.Query{Limit: 1})
		if err != nil || changes[0].ID != done.at("job", "result", "change_id") || changes[0].CredentialID != a.token || changes[0].Tool != "delete_connection" {
			t.Errorf("recorded: %+v, %v", changes, err)
		}
		if a.exists(t, id) || a.state(t) != decision.Done {
			t.Error("it was not done")
		}
		a.wantBalance(t, 100-2-1-1-1) // the read of get_connection as well
		a.asks(t, "")
		if undone := a.call(t, undoImport, fmt.Sprintf(`{"change_id":%q}`, changes[0].ID)); undone.code() != "" || !a.exists(t, id) {
			t.Errorf("it cannot be undone: %v", undone.body)
		}
	})
}

func (a *asking) priceOf(t *testing.T, tool string) int {
	t.Helper()
	rule, known := a.rpcs.Tool(tool)
	if !known {
		t.Fatalf("no tool %s", tool)
	}
	return rule.Tool.Credits
}

// Each kind of act needs the member's approval; other calls run at once.
func TestWhatIsAskedAbout(t *testing.T) {
	t.Parallel()
	eachAsking(t, "", func(t *testing.T, a *asking) {
		var ids []string
		for i := range 4 {
			ids = append(ids, a.person(t, fmt.Sprintf("Person %d", i)))
		}
		list := func(n int) string {
			data, err := json.Marshal(ids[:n])
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		note := a.call(t, addNote, fmt.Sprintf(`{"body":"x","connection_ids":[%q]}`, ids[0]))
		related := a.call(t, "/kith.connections.v1.ConnectionService/LinkConnections", fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"friend"}`, ids[0], ids[1]))
		const link, tags, rename, cadence = "/kith.connections.v1.ConnectionService/LinkConnections", "/kith.organize.v1.OrganizeService/UpdateMembership",
			"/kith.organize.v1.OrganizeService/RenameTag", "/kith.reminders.v1.ReminderService/SetCadence"
		a.call(t, tags, `{"connection_ids":`+list(4)+`,"add_tags":["old"]}`)
		entry := fmt.Sprintf(`{"id":%q}`, note.at("note", "id"))
		merge := fmt.Sprintf(`{"into_id":%q,"from_ids":[%q]`, ids[2], ids[3])
		for _, c := range []struct {
			asks, procedure, body string
			asked                 bool
		}{
			{"merge import bulk=2", deletePerson, deletionOf(ids[3], "Nobody"), false}, // refused for its name
			{"delete", "/kith.timeline.v1.TimelineService/DeleteTimelineEntry", entry, true},
			{"delete", link, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"friend","remove":true}`, ids[0], ids[1]), true},
			{"delete", link, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"friend"}`, ids[0], ids[2]), false},
			{"delete", archivePeople, `{"ids":` + list(1) + `}`, true},
			{"delete", archivePeople, `{"ids":` + list(1) + `,"dry_run":true}`, false},
			{"delete", undoImport, fmt.Sprintf(`{"change_id":%q}`, note.at("change_id")), true},
			{"delete", undoImport, fmt.Sprintf(`{"change_id":%q,"dry_run":true}`, note.at("change_id")), false},
			{"merge", mergePeople, merge + `,"dry_run":false}`, true},
			{"merge", mergePeople, merge + `}`, false},
			{"delete bulk=2", mergePeople, merge + `,"dry_run":false,"expected":1}`, false}, // refused for its argument
			{"bulk=1", mergePeople, merge + `,"dry_run":false}`, true},
			{"bulk=2", tags, `{"connection_ids":` + list(3) + `,"add_tags":["new"]}`, true},
			{"bulk=2", tags, `{"connection_ids":` + list(2) + `,"add_tags":["two"]}`, false},
			{"bulk=2", tags, `{"connection_ids":` + list(3) + `,"add_tags":["two"]}`, false}, // it changes one
			{"bulk=3", rename, `{"from":"old","to":"older"}`, true},
			{"bulk=4", rename, `{"from":"old","to":"oldest"}`, false},
			{"bulk=2", cadence, `{"connection_ids":` + list(3) + `,"days":30}`, true},
			{"delete merge import", cadence, `{"connection_ids":` + list(3) + `,"days":31}`, false},
			{"import", importFile, inline(twoPeople, `,"dry_run":true`), false},
			{"bulk=1", importFile, inline(twoPeople, `,"dry_run":true`), false},
			{"bulk=2", importFile, inline(twoPeople, ""), false},
			{"delete", update, fmt.Sprintf(`{"id":%q,"bio":"Wrote the first compiler","add_emails":["a@kith.example","b@kith.example"],"birthday":"1906-12-09"}`, ids[0]), false},
			{"delete", update, fmt.Sprintf(`{"id":%q,"bio":"Wrote a compiler"}`, ids[0]), false},
			{"delete", update, fmt.Sprintf(`{"id":%q,"emails":["c@kith.example","d@kith.example"]}`, ids[0]), false},
			{"delete", update, fmt.Sprintf(`{"id":%q,"remove_emails":["c@kith.example"]}`, ids[0]), true},
			{"delete", update, fmt.Sprintf(`{"id":%q,"emails":["c@kith.example"]}`, ids[0]), true},
			{"delete", update, fmt.Sprintf(`{"id":%q,"emails":["c@kith.example"],"add_phones":["+1 202 555 0142"]}`, ids[0]), true},
			{"delete", update, fmt.Sprintf(`{"id":%q,"bio":""}`, ids[0]), true},
			{"merge import bulk=2", update, fmt.Sprintf(`{"id":%q,"bio":""}`, ids[0]), false},
			{"delete", "/kith.timeline.v1.TimelineService/UpdateNote", fmt.Sprintf(`{"id":%q,"body":"x and more"}`, note.at("note", "id")), false},
			{"delete", "/kith.timeline.v1.TimelineService/UpdateNote", fmt.Sprintf(`{"id":%q,"body":"other"}`, note.at("note", "id")), true},
			{"delete", "/kith.timeline.v1.TimelineService/UpdateNote", fmt.Sprintf(`{"id":%q,"pinned":true}`, note.at("note", "id")), false},
			{"delete", tags, `{"connection_ids":` + list(1) + `,"add_tags":["more"]}`, false},
			{"delete", tags, `{"connection_ids":` + list(1) + `,"remove_tags":["more"]}`, true},
			{"delete", rename, `{"from":"old","to":"newer"}`, false},
			{"delete", cadence, `{"connection_ids":` + list(1) + `,"days":30}`, false},
			{"delete", cadence, `{"connection_ids":` + list(1) + `,"days":0}`, true},
		} {
			a.asks(t, c.asks)
			got := a.call(t, c.procedure, c.body)
			if asked := strings.HasPrefix(got.message(), "approval_needed"); asked != c.asked {
				t.Errorf("%s, asking before %q, %s: %d %v", c.procedure, c.asks, c.body, got.status, got.body)
			}
		}
		if related.code() != "" || note.code() != "" {
			t.Errorf("%v, %v", related.body, note.body)
		}
		for _, d := range a.waiting(t) {
			verb, _, _ := strings.Cut(d.Preview.Summary, " ")
			if verb == "" || verb != strings.ToLower(verb) || len(d.Preview.Effects) == 0 || d.Preview.Price != a.priceOf(t, d.Tool) {
				t.Errorf("%s: %q for %d, %d effects", d.Tool, d.Preview.Summary, d.Preview.Price, len(d.Preview.Effects))
			}
		}
	})
}

// An approved import starts an import, of the file that was asked about.
func TestAskBeforeAnImport(t *testing.T) {
	t.Parallel()
	eachAsking(t, "import", func(t *testing.T, a *asking) {
		number := a.wantAsked(t, a.call(t, importFile, inline(twoPeople, `,"filename":"friends.csv"`)), `"import friends.csv"`)
		if got := a.count(t, "files", "1 = 1") + a.count(t, "jobs", "kind = 'file_import'"); got != 0 {
			t.Errorf("%d files and imports", got)
		}
		var shown importer.Asked
		if err := json.Unmarshal(a.waiting(t)[0].Preview.Import, &shown); err != nil || shown.Created != 2 || len(shown.Rows) != 2 || fmt.Sprint(shown.Rows[1]) != "{3 add Bo Berg <nil> []}" || shown.Partly {
			t.Errorf("%+v, %v", shown, err)
		}
		a.wantBalance(t, 100)
		a.approve(t)
		a.run(t)
		done := a.job(t, number)
		started, _ := done.at("job", "result", "task_id").(float64)
		if imported := a.job(t, int32(started)); imported.at("job", "state") != "succeeded" || imported.at("job", "result", "created") != 2.0 {
			t.Errorf("%v\n%v", done.body, imported.body)
		}
		a.wantBalance(t, 95)
	})
}

// An import counts as bulk by the rows of its file. Its undo is a deletion, and counts as bulk by the
// people that the import changed.
func TestImportsAreBulkByTheirRows(t *testing.T) {
	t.Parallel()
	eachAsking(t, "bulk=1", func(t *testing.T, a *asking) {
		number := a.wantAsked(t, a.call(t, importFile, inline(twoPeople, "")), `"import`)
		if d := a.waiting(t)[0]; d.Preview.People != 2 || d.Kinds != catalog.ActBulk {
			t.Errorf("%+v", d)
		}
		a.approve(t)
		a.run(t)
		task, _ := a.job(t, number).at("job", "result", "task_id").(float64)
		undo := fmt.Sprintf(`{"import_id":%q}`, a.job(t, int32(task)).at("job", "result", "import_id"))
		for asks, kinds := range map[string]string{"bulk=1": "bulk", "delete": "delete", "import": "import", "delete import bulk=1": "delete import bulk"} {
			a.asks(t, asks)
			asked := a.wantAsked(t, a.call(t, undoImport, undo), `"undo an import"`)
			if d := a.waiting(t)[0]; d.Kinds != kinds || d.Preview.People != 2 {
				t.Errorf("asking before %s: %+v", asks, d)
			}
			a.call(t, cancelJob, fmt.Sprintf(`{"task_id":%d}`, asked))
		}
		a.asks(t, "bulk=2 merge")
		if got := a.call(t, undoImport, undo); got.at("task_id") == nil {
			t.Errorf("two people are not more than two: %v", got.body)
		}
	})
}

// Approval is for the states that the member saw. If a target has changed since, /decide says so and
// shows its present name, the call is not made, and the member is asked again about it as it is now.
func TestApprovalIsForTheStatesThatWereSeen(t *testing.T) {
	t.Parallel()
	const tags = "/kith.organize.v1.OrganizeService/UpdateMembership"
	for name, c := range map[string]struct {
		asks   string
		call   func(a *asking, t *testing.T, ids []string) answer
		change func(a *asking, t *testing.T, ids []string) answer
		shows  string
	}{
		"a person is renamed before they are archived": {"delete", func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, archivePeople, `{"ids":`+idsOf(t, ids[0])+`}`)
		}, func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, update, fmt.Sprintf(`{"id":%q,"name":"Grace Brewster"}`, ids[0]))
		}, "archive Grace Brewster"},
		"one of many people changes": {"bulk=1", func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, tags, `{"connection_ids":`+idsOf(t, ids...)+`,"add_tags":["new"]}`)
		}, func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, update, fmt.Sprintf(`{"id":%q,"bio":"Another person"}`, ids[1]))
		}, "change the tags of 2 people"},
		"a field that would be emptied has another value": {"delete", func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, update, fmt.Sprintf(`{"id":%q,"location":""}`, ids[0]))
		}, func(a *asking, t *testing.T, ids []string) answer {
			return a.call(t, update, fmt.Sprintf(`{"id":%q,"location":"Porto"}`, ids[0]))
		}, "change Grace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachAsking(t, "", func(t *testing.T, a *asking) {
				ids := []string{a.person(t, "Grace"), a.person(t, "Ada")}
				if got := a.call(t, update, fmt.Sprintf(`{"id":%q,"location":"Lisbon"}`, ids[0])); got.code() != "" {
					t.Fatalf("%v", got.body)
				}
				a.asks(t, c.asks)
				number := a.wantAsked(t, c.call(a, t, ids), "")
				if d := a.waiting(t)[0]; d.Changed {
					t.Errorf("changed at once: %+v", d)
				}
				a.asks(t, "")
				if got := c.change(a, t, ids); got.code() != "" {
					t.Fatalf("%v", got.body)
				}
				a.asks(t, c.asks)
				before := a.count(t, "changes", "1 = 1")
				if d := a.waiting(t)[0]; !d.Changed || d.Preview.Summary != c.shows {
					t.Errorf("changed %t, %q", d.Changed, d.Preview.Summary)
				}
				a.approve(t)
				a.run(t)
				a.wantFailed(t, number, decision.CodeChanged)
				again := a.waiting(t)
				if len(again) != 1 || again[0].Changed || again[0].Preview.Summary != c.shows || a.count(t, "changes", "1 = 1") != before {
					t.Fatalf("%+v", again)
				}
				if detail := fmt.Sprint(a.job(t, number).at("job", "error", "detail")); !strings.Contains(detail, fmt.Sprintf("read job %d", again[0].TaskID)) {
					t.Error(detail)
				}
				a.approve(t)
				a.run(t)
				if got := a.job(t, again[0].TaskID); got.at("job", "state") != "succeeded" || a.count(t, "changes", "1 = 1") != before+1 {
					t.Errorf("%v", got.body)
				}
			})
		})
	}
}

// Of concurrent approvals, refusals and cancellations, exactly one succeeds, and the job shows
// which.
func TestRacesOfDecisions(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		for round := range 8 {
			a.asks(t, "delete")
			id := a.person(t, fmt.Sprintf("Person %d", round))
			number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, fmt.Sprintf("Person %d", round))), "delete")
			waits := a.waiting(t)
			if len(waits) != 1 {
				t.Fatalf("%d wait", len(waits))
			}
			var mu sync.Mutex
			won := map[string]int{}
			together(24, func(i int) answer {
				name, err := "approve", error(nil)
				switch i % 3 {
				case 0:
					err = a.decide(t.Context(), waits[0].ID, true)
				case 1:
					name, err = "refuse", a.decide(t.Context(), waits[0].ID, false)
				default:
					if got := a.call(t, cancelJob, fmt.Sprintf(`{"task_id":%d}`, number)); got.code() != "" {
						t.Errorf("cancel: %v", got.body)
					}
					return answer{}
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won[name]++
				} else if !fault.Is(err, fault.Conflict) {
					t.Errorf("%s: %v", name, err)
				}
				return answer{}
			})
			a.run(t)
			list, err := decision.List(t.Context(), a.data())
			if err != nil {
				t.Fatal(err)
			}
			state, told := list[len(list)-1].State, a.job(t, number)
			if len(won) > 1 || won["approve"]+won["refuse"] > 1 {
				t.Errorf("won: %v", won)
			}
			want := map[string]string{decision.Done: "succeeded", decision.Refused: "failed", decision.Cancelled: "cancelled"}[state]
			if told.at("job", "state") != want || a.exists(t, id) == (state == decision.Done) {
				t.Errorf("%s, won %v, told %v, the person exists: %t", state, won, told.body, a.exists(t, id))
			}
		}
	})
}

// If the token is revoked while an approved call runs, the call is either made completely or not at
// all.
func TestRevokeWhileApproved(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		reader := dbtest.Token(t, p.store, p.member, "account", "connections", "write")
		for round := range 6 {
			p.bearer = dbtest.Token(t, p.store, p.member, p.rpcs.Scopes()...)
			a := newAsking(t, p, "delete")
			name := fmt.Sprintf("Person %d", round)
			id := a.person(t, name)
			number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, name)), "delete")
			if round%2 == 0 {
				a.approve(t)
			}
			var all sync.WaitGroup
			all.Go(func() {
				if err := account.RevokePersonalToken(t.Context(), a.store, a.member, a.token, a.time()); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() { a.run(t) })
			all.Wait()
			a.run(t)
			p.bearer = reader
			told := a.job(t, number)
			gone := a.call(t, get, `{"id":"`+id+`"}`).code() == "not_found"
			list, err := decision.List(t.Context(), a.data())
			if err != nil {
				t.Fatal(err)
			}
			state := list[len(list)-1].State
			done := state == decision.Done && gone && told.at("job", "state") == "succeeded"
			ended := state == decision.Cancelled && !gone && told.at("job", "error", "code") == decision.CodeRevoked
			if done == ended || done && round%2 == 1 {
				t.Errorf("round %d: %s, gone %t, told %v", round, state, gone, told.body)
			}
		}
	})
}

// A call that the member does not decide on in time can no longer be approved; the agent can call again.
func TestDecisionsExpire(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Ada")
		number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), "delete")
		waits := a.waiting(t)[0]
		a.advance(decision.Lifetime)
		if err := a.decide(t.Context(), waits.ID, true); !fault.Is(err, fault.Conflict) || len(a.waiting(t)) > 0 {
			t.Errorf("it can be approved too late: %v", err)
		}
		again := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), "delete")
		if again == number {
			t.Error("the old job is given again")
		}
		a.run(t)
		a.wantFailed(t, number, decision.CodeExpired)
		if a.job(t, again).at("job", "state") != "queued" || !a.exists(t, id) {
			t.Error("the new one ended")
		}
		a.advance(90*24*time.Hour + time.Second)
		a.run(t)
		if _, err := retention.Sweep(t.Context(), a.store, a.time()); err != nil {
			t.Fatal(err)
		}
		if list, err := decision.List(t.Context(), a.data()); err != nil || len(list) != 1 {
			t.Errorf("left: %+v, %v", list, err)
		}
	})
}

// If an approved call can't be made any more, its job fails with the reason, and nothing is done.
func TestApprovedButNotDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string
		change func(t *testing.T, a *asking, id string)
	}{
		"more is deleted than was asked": {decision.CodeChanged, func(t *testing.T, a *asking, id string) {
			a.call(t, addNote, fmt.Sprintf(`{"body":"new","connection_ids":[%q]}`, id))
		}},
		"the person was renamed": {"invalid_argument", func(t *testing.T, a *asking, id string) {
			a.call(t, update, fmt.Sprintf(`{"id":%q,"name":"Grace"}`, id))
		}},
		"the scope is gone": {"missing_scope", func(t *testing.T, a *asking, _ string) {
			a.exec(t, "UPDATE personal_tokens SET scopes = 'connections account' WHERE id = '"+a.token+"'")
		}},
		"the tool is gone": {"limited_to_tools", func(t *testing.T, a *asking, _ string) {
			a.exec(t, "UPDATE personal_tokens SET tools = 'get_job get_connection' WHERE id = '"+a.token+"'")
		}},
		"the credits are used up": {"out_of_credits", func(t *testing.T, a *asking, _ string) {
			a.exec(t, "UPDATE credit_balances SET balance = 0 WHERE tenant_id = '"+string(a.member)+"'")
		}},
		"the access ended": {decision.CodeRevoked, func(t *testing.T, a *asking, _ string) {
			a.exec(t, "UPDATE personal_tokens SET expires_at = created_at WHERE id = '"+a.token+"'")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachAsking(t, "delete", func(t *testing.T, a *asking) {
				id := a.person(t, "Ada")
				other := dbtest.Token(t, a.store, a.member, "connections", "account", "write")
				number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), `"delete Ada"`)
				a.approve(t)
				c.change(t, a, id)
				a.run(t)
				a.bearer = other
				a.wantFailed(t, number, c.code)
				if n := a.count(t, "connections", "id = '"+id+"'"); n != 1 {
					t.Error("the person is gone")
				}
				list, err := decision.List(t.Context(), a.data())
				if err != nil || list[0].State != decision.Failed || list[0].Arguments != "" {
					t.Errorf("%+v, %v", list, err)
				}
			})
		})
	}
}

// If the person is already deleted when the call is approved, there is nothing to delete. That is
// not what was approved, so the job fails.
func TestApprovedAfterItWasDone(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Ada")
		number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), `"delete Ada"`)
		a.asks(t, "")
		a.call(t, deletePerson, deletionOf(id, "Ada"))
		a.approve(t)
		a.run(t)
		a.wantFailed(t, number, decision.CodeChanged)
	})
}

// If a process dies before, during or after an approved call, the call is made once and charged
// once, and the job has its answer.
func TestKilledWhileApproved(t *testing.T) {
	t.Parallel()
	for _, dies := range []string{"before the call", "after the call", "and comes back late"} {
		t.Run(dies, func(t *testing.T) {
			t.Parallel()
			eachAsking(t, "delete", func(t *testing.T, a *asking) {
				id := a.person(t, "Ada")
				number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), `"delete Ada"`)
				a.approve(t)
				claimed, err := a.queue.ClaimJob(t.Context(), []string{decision.JobKind}, a.time().Add(30*time.Second))
				if err != nil || claimed == nil {
					t.Fatalf("%v, %v", claimed, err)
				}
				if dies == "after the call" {
					if _, err := a.work(t.Context(), &job.Run{Job: *claimed}); err != nil {
						t.Fatal(err)
					}
					if got := a.call(t, cancelJob, fmt.Sprintf(`{"task_id":%d}`, number)); got.at("job", "state") != "running" {
						t.Errorf("it is cancelled after it was done: %v", got.body)
					}
				}
				a.advance(time.Minute)
				a.run(t)
				if dies == "and comes back late" {
					if result, err := a.work(t.Context(), &job.Run{Job: *claimed}); result != nil || err == nil {
						t.Errorf("a worker without a lease got %v, %v", result, err)
					}
				}
				told := a.job(t, number)
				if told.at("job", "state") != "succeeded" || told.at("job", "result", "deleted") != true || a.state(t) != decision.Done {
					t.Errorf("%v", told.body)
				}
				if n := a.count(t, "changes", "tool = 'delete_connection'"); n != 1 {
					t.Errorf("it was done %d times", n)
				}
				a.wantBalance(t, 100-2-1)
			})
		})
	}
}

// A call with a key gets the same answer again, also after the decision.
func TestAskFirstWithAKey(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Ada")
		first := a.withKey(t, "k", deletePerson, deletionOf(id, "Ada"))
		number := a.wantAsked(t, first, `"delete Ada"`)
		wantReplay(t, first, a.withKey(t, "k", deletePerson, deletionOf(id, "Ada")))
		a.approve(t)
		a.run(t)
		wantReplay(t, first, a.withKey(t, "k", deletePerson, deletionOf(id, "Ada")))
		if a.job(t, number).at("job", "state") != "succeeded" || len(a.waiting(t)) > 0 {
			t.Error("the member was asked twice")
		}
	})
}

// Many equal concurrent calls lead to one decision. At most decision.MaxWaiting decisions can wait.
func TestEqualCallsAtOnce(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Ada")
		numbers := map[string]bool{}
		for _, got := range together(20, func(int) answer { return a.call(t, deletePerson, deletionOf(id, "Ada")) }) {
			numbers[fmt.Sprint(a.wantAsked(t, got, `"delete Ada"`))] = true
		}
		if len(numbers) != 1 || len(a.waiting(t)) != 1 {
			t.Errorf("jobs %v, %d wait", numbers, len(a.waiting(t)))
		}
		err := a.data().Write(t.Context(), db.Actor{CredentialID: a.token, Tool: "x"}, func(ctx context.Context, tx *db.Tx) error {
			for i := range decision.MaxWaiting - 1 {
				if _, _, err := decision.Ask(ctx, tx, decision.Call{Fingerprint: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		other := a.person(t, "Bo")
		if got := a.call(t, deletePerson, deletionOf(other, "Bo")); got.code() != "aborted" || !strings.Contains(got.message(), "/decide") {
			t.Errorf("one too many: %v", got.body)
		}
	})
}

// If the database fails, the job is retried and makes the call then.
func TestApprovedThroughAnOutage(t *testing.T) {
	t.Parallel()
	eachAsking(t, "delete", func(t *testing.T, a *asking) {
		id := a.person(t, "Ada")
		number := a.wantAsked(t, a.call(t, deletePerson, deletionOf(id, "Ada")), `"delete Ada"`)
		a.approve(t)
		claimed, err := a.queue.ClaimJob(t.Context(), []string{decision.JobKind}, a.time().Add(30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.work(ctx, &job.Run{Job: *claimed}); err == nil || errors.As(err, new(*job.Failure)) {
			t.Errorf("it ended with %v", err)
		}
		a.advance(time.Minute)
		a.run(t)
		if got := a.job(t, number); got.at("job", "state") != "succeeded" || got.status != http.StatusOK {
			t.Errorf("%v", got.body)
		}
	})
}

// Every tool that can delete, merge, import or change many people says so in the contract.
func TestToolsThatAreActs(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var acting []string
	for _, tool := range rpcs.Tools() {
		if len(tool.Tool.Acts) > 0 {
			acting = append(acting, tool.Tool.Name+" "+strings.Join(tool.Tool.Acts, " "))
		}
	}
	const want = "update_connection delete, archive_connections delete bulk, delete_connection delete, merge_connections merge bulk, update_organization delete bulk, link_connections delete, " +
		"update_note delete, update_interaction delete, delete_timeline_entry delete, save_group delete, delete_group delete, update_membership delete bulk, rename_tag delete bulk, " +
		"update_reminder delete, set_cadence delete bulk, import_file import bulk, update_my_profile delete, undo_change delete import bulk, define_field delete bulk"
	if got := strings.Join(acting, ", "); got != want {
		t.Errorf("got %s", got)
	}
}
