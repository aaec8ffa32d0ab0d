package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/catalog"
	"pgregory.net/rapid"
)

// After any sequence of writing tools, undoing all changes from the last to the first
// restores the original state.
func TestUndoOfWhateverWasDone(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s := newStage(t, p)
		rounds(t, 8, s.unused, func(rt *rapid.T) {
			a := s.newActor(t)
			a.learn(s.rows(t, a.tenant))
			before := s.objects(t, a)
			for _, id := range slices.Backward(s.act(t, rt, a, 25, s.revocable())) {
				if got := s.undo(t, rt, a, id, false); got.at("change_id") == nil {
					rt.Fatalf("%s cannot be undone: %v", id, got.body)
				}
			}
			if diff := cmp.Diff(before, s.objects(t, a)); diff != "" {
				rt.Fatalf("this was left (-before +after):\n%s", diff)
			}
		})
	})
}

// Changes are undone and redone in any order. Each is undone, or its conflicts are returned and
// nothing changes. A dry run before it gives the same result. When everything is undone, the state
// is the original one.
func TestUndoInAnyOrder(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s, cleared := newStage(t, p), 0
		lacks := func() []string {
			out := s.unused()
			if cleared == 0 || s.conflicts == 0 {
				out = append(out, fmt.Sprintf("all changes were undone %d times, and %d undos had conflicts: both must happen", cleared, s.conflicts))
			}
			return out
		}
		rounds(t, 8, lacks, func(rt *rapid.T) {
			a := s.newActor(t)
			a.learn(s.rows(t, a.tenant))
			before := s.objects(t, a)
			// Without undo_change: the test itself chooses below what to undo.
			done := s.act(t, rt, a, 15, slices.DeleteFunc(s.revocable(), func(r *catalog.RPC) bool { return r.Tool.Name == "undo_change" }))
			all := slices.Clone(done)
			for _, id := range rapid.Permutation(done).Draw(rt, "order") {
				all = append(all, s.tryUndo(t, rt, a, id)...)
			}
			for range min(5, len(all)) {
				all = append(all, s.tryUndo(t, rt, a, rapid.SampledFrom(all).Draw(rt, "again"))...)
			}
			if s.undoRest(t, rt, a, done) {
				if diff := cmp.Diff(before, s.objects(t, a)); diff != "" {
					rt.Fatalf("this was left (-before +after):\n%s", diff)
				}
				cleared++
			}
		})
	})
}

// unused lists the tools that have made no change so far.
func (s *stage) unused() []string {
	var out []string
	for _, tool := range s.revocable() {
		if name := tool.Tool.Name; s.succeeded[name] == 0 && name != "undo_change" {
			out = append(out, "no change of "+name+" was undone: teach the generator how to make one")
		}
	}
	return out
}

// revocable returns the tools whose changes can be undone. Tools that start jobs are left out,
// because a job changes something only after the call.
func (s *stage) revocable() []*catalog.RPC {
	jobs := []string{"import_file", "embed_objects", "cancel_job"}
	var out []*catalog.RPC
	for _, tool := range s.tools {
		if name := tool.Tool.Name; tool.Writes && !slices.Contains(jobs, name) {
			out = append(out, tool)
		}
	}
	return out
}

// act lets a member call tools and returns the changes that they made.
func (s *stage) act(t *testing.T, rt *rapid.T, a *actor, calls int, tools []*catalog.RPC) []string {
	t.Helper()
	var changes []string
	for step := range calls {
		tool := s.pick(rt, tools, step)
		body := rapid.Custom(func(rt *rapid.T) string {
			asks := &speaker{rt: rt, own: a.vocabulary, others: a.vocabulary, dataOwner: callersData}
			return asks.arguments(tool.Tool.Name, s.inputs[tool.Tool.Name])
		}).Draw(rt, tool.Tool.Name)
		got := s.ask(t, rt, a, tool.Procedure, body)
		if id, ok := got.at("change_id").(string); ok {
			s.succeeded[tool.Tool.Name]++
			changes = append(changes, id)
			a.learn(s.rows(t, a.tenant))
		}
	}
	return changes
}

// ask makes a call that must not fail with an internal error.
func (s *stage) ask(t *testing.T, rt *rapid.T, a *actor, procedure, body string) answer {
	t.Helper()
	s.advance(time.Second)
	got := s.call(t, procedure, body, "Authorization", "Bearer "+a.bearer)
	if code := got.code(); code == "internal" || code == "unavailable" || code == "unknown" {
		rt.Fatalf("%s %s: %v", procedure, body, got.body)
	}
	if a.hidden && strings.ContainsFunc(got.text(), text.Invisible) {
		rt.Fatalf("%s %+q: the answer holds invisible characters: %+q", procedure, body, got.text())
	}
	a.read(got.body)
	return got
}

func (s *stage) undo(t *testing.T, rt *rapid.T, a *actor, id string, dryRun bool) answer {
	t.Helper()
	got := s.ask(t, rt, a, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":%v}`, id, dryRun))
	rt.Logf("undo %s, dry run %v: %v", id, dryRun, got.body)
	if got.code() != "" {
		rt.Fatalf("undo %s: %v", id, got.body)
	}
	return got
}

// tryUndo undoes a change if it has no conflicts, and returns the id of the undo.
func (s *stage) tryUndo(t *testing.T, rt *rapid.T, a *actor, id string) []string {
	t.Helper()
	before := s.withoutCounter(t, a)
	dry := s.undo(t, rt, a, id, true)
	if diff := cmp.Diff(before, s.withoutCounter(t, a)); diff != "" {
		rt.Fatalf("a dry run changed:\n%s", diff)
	}
	got := s.undo(t, rt, a, id, false)
	for _, field := range []string{"restored_count", "already_undone"} {
		if diff := cmp.Diff(dry.at(field), got.at(field)); diff != "" {
			rt.Fatalf("%s of the dry run, and of the undo:\n%s", field, diff)
		}
	}
	if made, ok := got.at("change_id").(string); ok {
		if got.size("restored") == 0 || got.size("conflicts") != 0 || got.at("already_undone") != false {
			rt.Fatalf("%s was undone: %v", id, got.body)
		}
		return []string{made}
	}
	if got.size("restored") != 0 || (got.size("conflicts") == 0) != (got.at("already_undone") == true) {
		rt.Fatalf("%s was not undone: %v", id, got.body)
	}
	if got.size("conflicts") > 0 {
		s.conflicts++
	}
	if diff := cmp.Diff(before, s.withoutCounter(t, a)); diff != "" {
		rt.Fatalf("%s was not undone, and something changed:\n%s", id, diff)
	}
	return nil
}

// withoutCounter returns all data of a member except tenant_states, whose data version grows with
// every writing call, even one that changes nothing.
func (s *stage) withoutCounter(t *testing.T, a *actor) []string {
	t.Helper()
	var out []string
	for _, r := range s.rows(t, a.tenant) {
		if r.table != "tenant_states" {
			out = append(out, r.text())
		}
	}
	return out
}

// undoRest undoes the changes that are not undone yet, from the last to the first. It repeats that
// as long as a pass undoes at least one, and reports whether all are undone.
func (s *stage) undoRest(t *testing.T, rt *rapid.T, a *actor, changes []string) bool {
	t.Helper()
	for {
		left, undone := 0, 0
		for _, id := range slices.Backward(changes) {
			got := s.undo(t, rt, a, id, false)
			switch {
			case got.at("change_id") != nil:
				undone++
			case got.at("already_undone") == false:
				left++
			}
		}
		if left == 0 {
			return true
		}
		if undone == 0 {
			return false
		}
	}
}

// objects returns a member's objects without history, credits, versions and times of change.
// Organisations and tags are never removed, so it returns only those in use.
func (s *stage) objects(t *testing.T, a *actor) []string {
	t.Helper()
	used := map[string]bool{}
	var out []string
	var lasting []row
	for _, r := range s.rows(t, a.tenant) {
		switch r.table {
		case "changes", "change_objects", "decisions", "credit_balances", "credit_entries", "agent_reads", "tenant_states", "removed_connections", "entry_words", "entry_blocks":
		case "organizations", "tags":
			lasting = append(lasting, r)
		default:
			out = append(out, r.text("version", "data_version", "updated_at", "shared", "number"))
			used[r.get("organization_id")], used[r.get("tag_id")] = true, true
		}
	}
	for _, r := range lasting {
		if used[r.get("id")] {
			out = append(out, r.text("updated_at"))
		}
	}
	return out
}
