package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every duplicate is merged with three calls, with the pairs of find_duplicates. One undo restores
// all records.
func TestMergePairs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		var ids []string
		for i := range 12 {
			for _, name := range []string{"Ana Number%d", "Anna Number%d"} {
				body := fmt.Sprintf(`{"name":%q,"emails":["n%d@x.example"],"on_duplicate":"create","location":"Place %d"}`, fmt.Sprintf(name, i), i, len(ids))
				ids = append(ids, b.made(t, body))
			}
		}
		b.call(t, addNote, `{"connection_ids":`+idsOf(t, ids[:20]...)+`,"body":"met them all"}`)
		state := func() map[string]any {
			got := b.call(t, get, `{"ids":`+idsOf(t, ids[:20]...)+`}`).body
			for _, c := range got["connections"].([]any) {
				delete(c.(map[string]any), "version")
				delete(c.(map[string]any), "updated_at")
			}
			return got
		}
		before := state()

		found := b.call(t, duplicates, `{"limit":50}`)
		var pairs []map[string]any
		for i := range found.size("pairs") {
			pairs = append(pairs, map[string]any{"keep_id": found.at("pairs", i, "first", "id"), "merge_id": found.at("pairs", i, "second", "id")})
		}
		text, err := json.Marshal(pairs)
		if err != nil || len(pairs) != 12 {
			t.Fatalf("%d pairs, %v: %v", len(pairs), err, found.body)
		}
		dry := b.call(t, mergePeople, `{"pairs":`+string(text)+`}`)
		if dry.at("merged") != false || dry.at("change_id") != nil || dry.size("people") != 12 || dry.at("connection") != nil ||
			!strings.Contains(fmt.Sprint(dry.at("note")), "Nothing was written. To merge, call again with the same arguments and dry_run: false.") {
			t.Errorf("dry run: %v", dry.body)
		}
		if diff := cmp.Diff(before, state()); diff != "" {
			t.Errorf("the dry run wrote:\n%s", diff)
		}
		done := b.call(t, mergePeople, `{"dry_run":false,"pairs":`+string(text)+`}`)
		if done.at("merged") != true || done.at("change_id") == nil || done.at("note") != nil || done.size("people") != 12 || done.size("conflicts") == 0 ||
			done.at("conflicts", 0, "connection_id") != done.at("people", 0, "id") {
			t.Fatalf("merged: %v", done.body)
		}
		gone := 0
		for i := range 12 {
			gone += done.size("people", i, "from")
		}
		if left := b.call(t, duplicates, `{}`); left.size("pairs") != 0 || gone != len(ids)-12 {
			t.Errorf("%d merged, left: %v", gone, left.body)
		}
		latest := b.call(t, listChanges, `{"limit":1}`)
		if summary := fmt.Sprint(latest.at("changes", 0, "summary")); !strings.HasPrefix(summary, "Merged A") || !strings.HasSuffix(summary, ", and others into 9 more people") ||
			!strings.Contains(fmt.Sprint(latest.at("changes", 0, "touched")), "24 connections, ") {
			t.Errorf("summary: %v", latest.body)
		}
		if undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, done.at("change_id"))); undone.at("change_id") == nil {
			t.Fatalf("undo: %v", undone.body)
		}
		if diff := cmp.Diff(before, state()); diff != "" {
			t.Errorf("after the undo (-before +after):\n%s", diff)
		}
	})
}

// The largest answer to a merge of pairs has 32 KB at most, whatever the people are called.
func TestMergedPairsFit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		long := strings.Repeat("n", 150)
		var pairs []string
		for i := range 50 {
			fields := `"bio":"%s","met_how":"%s","location":"%s","on_duplicate":"create"`
			one := b.made(t, fmt.Sprintf(`{"name":"%s %d",`+fields+`}`, long, i, long, long, long[:100]+"1"))
			two := b.made(t, fmt.Sprintf(`{"name":"%s %d",`+fields+`}`, long, i, long+"2", long+"2", long[:100]+"2"))
			pairs = append(pairs, fmt.Sprintf(`{"keep_id":%q,"merge_id":%q}`, one, two))
		}
		got := b.call(t, mergePeople, `{"pairs":[`+strings.Join(pairs, ",")+`]}`)
		text, err := json.Marshal(got.body)
		if err != nil || len(text) > 32<<10 || got.size("people") != 50 || got.size("conflicts") != 50 {
			t.Errorf("%d bytes, %d people, %d conflicts, %v", len(text), got.size("people"), got.size("conflicts"), err)
		}
	})
}

func TestRefusedPairs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana, bo, cy := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Bo"}`), b.made(t, `{"name":"Cy"}`)
		pair := func(keep, merge string) string { return fmt.Sprintf(`{"keep_id":%q,"merge_id":%q}`, keep, merge) }
		const unknown = "con_ch541ck879"
		for name, c := range map[string]struct{ arguments, code, words string }{
			"nothing":       {`"dry_run":false`, "invalid_argument", "give either into_id with from_ids or selection, or pairs"},
			"two ways":      {fmt.Sprintf(`"into_id":%q,"pairs":[%s]`, ana, pair(ana, bo)), "invalid_argument", "or pairs"},
			"only into_id":  {fmt.Sprintf(`"dry_run":false,"into_id":%q`, ana), "invalid_argument", "or pairs"},
			"half a pair":   {fmt.Sprintf(`"pairs":[{"keep_id":%q}]`, ana), "invalid_argument", "pairs[0].merge_id is required"},
			"a name":        {`"dry_run":false,"pairs":[` + pair(ana, "Bo") + `]`, "invalid_argument", "a name is not an id"},
			"oneself":       {`"dry_run":false,"pairs":[` + pair(ana, ana) + `]`, "invalid_argument", "merged into themselves"},
			"two who stay":  {`"dry_run":false,"pairs":[` + pair(ana, bo) + `,` + pair(cy, bo) + `]`, "invalid_argument", "would merge " + bo + " into both"},
			"a circle":      {`"dry_run":false,"pairs":[` + pair(ana, bo) + `,` + pair(bo, ana) + `]`, "invalid_argument", "into each other"},
			"one of nobody": {`"dry_run":false,"pairs":[` + pair(ana, bo) + `,` + pair(cy, unknown) + `]`, "not_found", unknown},
			"51":            {`"dry_run":false,"pairs":[` + strings.TrimSuffix(strings.Repeat(pair(ana, bo)+",", 51), ",") + `]`, "invalid_argument", "pairs"},
		} {
			got := b.call(t, mergePeople, `{`+c.arguments+`}`)
			if got.code() != c.code || !strings.Contains(got.message(), c.words) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if all := b.call(t, listChanges, `{}`); all.size("changes") != 3 {
			t.Errorf("something was merged: %v", all.body)
		}
	})
}
