package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/proto/catalog"
)

// Fifty changes, among them acts on many people, take 8 KB at most; each line says what was
// done to whom. One change can be read whole.
func TestFiftyChangesFit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		var ids []string
		for i := range 20 {
			ids = append(ids, b.made(t, fmt.Sprintf(`{"name":"Katherine Johnson%d"}`, i)))
		}
		other := dbtest.Token(t, b.store, b.member, b.rpcs.Scopes()...)
		for i := range 10 {
			some := idsOf(t, ids[i:i+10]...)
			for _, act := range []struct{ procedure, body string }{
				{logCall, `{"connection_ids":` + idsOf(t, ids[i]) + `,"kind":"meeting","summary":"Launch window"}`},
				{addNote, `{"connection_ids":` + idsOf(t, ids[i], ids[i+1]) + `,"body":"Draws charts by hand"}`},
				{updateMembership, fmt.Sprintf(`{"connection_ids":%s,"add_tags":["tag %d"]}`, some, i)},
				{archivePeople, fmt.Sprintf(`{"ids":%s,"archived":%v}`, some, i%2 == 0)},
				{createReminder, fmt.Sprintf(`{"connection_id":%q,"text":"Send the charts","due_on":"2099-01-01"}`, ids[19])},
				{update, fmt.Sprintf(`{"id":%q,"bio":"b%d"}`, ids[19], i)},
			} {
				got := b.call(t, act.procedure, act.body, "Authorization", "Bearer "+[]string{b.bearer, b.bearer, other}[i%3])
				if got.code() != "" && got.code() != "aborted" { // some are archived
					t.Fatalf("%s: %v", act.procedure, got.body)
				}
			}
		}
		got := b.call(t, listChanges, `{"limit":50}`)
		text, err := json.Marshal(got.body)
		t.Logf("%d bytes", len(text))
		if err != nil || got.size("changes") != 50 || len(text) > 8<<10 {
			t.Errorf("%d changes, %d bytes, %v", got.size("changes"), len(text), err)
		}
		for words, field := range map[string]string{
			"Logged: meeting (Katherine Johnson0)": "summary", "Added a note (Katherine Johnson0, Katherine Johnson1)": "summary",
			"Added a reminder: Send the charts (Katherine Johnson19)": "summary", "Brought back Katherine Johnson10 and 8 others": "summary",
		} {
			if !strings.Contains(string(text), fmt.Sprintf("%q:%q", field, words)) {
				t.Errorf("no change has %s %q: %s", field, words, text)
			}
		}
		bulk := b.call(t, listChanges, `{"tool":"archive_connections","limit":1}`)
		whole := b.call(t, listChanges, fmt.Sprintf(`{"change_id":%q}`, bulk.at("changes", 0, "id")))
		if bulk.at("changes", 0, "objects") != nil || whole.size("changes") != 1 || whole.size("changes", 0, "objects") != 9 {
			t.Errorf("in the list %v, alone %v", bulk.body, whole.body)
		}
	})
}

// Filters by person, tool, agent and day choose the changes, on each page.
func TestFilteredChanges(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		s := dbtest.Open(t, url, clock)
		b := serve(t, s, clock)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		ana, bo := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Bo"}`)
		for range 5 {
			now = now.AddDate(0, 0, 1)
			b.call(t, logCall, `{"connection_ids":`+idsOf(t, ana, bo)+`,"kind":"call"}`)
			b.call(t, addNote, `{"connection_ids":`+idsOf(t, bo)+`,"body":"x"}`)
		}
		read := func(arguments string) (summaries []string) {
			for cursor := ""; ; {
				got := b.call(t, listChanges, `{"limit":2,`+arguments+cursor+`}`)
				if got.code() != "" {
					t.Fatalf("%s: %v", arguments, got.body)
				}
				for i := range got.size("changes") {
					summaries = append(summaries, got.at("changes", i, "summary").(string))
				}
				if got.at("has_more") != true {
					return summaries
				}
				cursor = fmt.Sprintf(`,"cursor":%q`, got.at("next_cursor"))
			}
		}
		for arguments, want := range map[string]int{
			fmt.Sprintf(`"connection_id":%q`, ana):                                6,
			fmt.Sprintf(`"connection_id":%q`, bo):                                 11,
			fmt.Sprintf(`"connection_id":%q,"tool":"add_note"`, ana):              0,
			`"tool":"add_note"`:                                                   5,
			`"agent":"TEST"`:                                                      12,
			`"agent":"nobody"`:                                                    0,
			`"since":"2026-11-06"`:                                                2,
			`"until":"2026-11-02"`:                                                2,
			`"since":"2026-11-03","until":"2026-11-05"`:                           4,
			`"since":"2026-11-03","until":"2026-11-05","tool":"log_interaction"`:  2,
			`"since":"2026-11-03","until":"2026-11-05","mine":true,"tool":"none"`: 0,
			`"mine":true`:                                                         12,
		} {
			if got := read(arguments); len(got) != want {
				t.Errorf("%s: %v, want %d", arguments, got, want)
			}
		}
		yesterday := b.call(t, listChanges, `{"since":"2026-11-05","until":"2026-11-06","tool":"log_interaction"}`)
		if yesterday.size("changes") != 1 || yesterday.at("changes", 0, "summary") != "Logged: call (Ana, Bo)" || yesterday.at("changes", 0, "created_at") != "2026-11-05T12:00:00Z" {
			t.Errorf("yesterday's log: %v", yesterday.body)
		}
		if undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, yesterday.at("changes", 0, "id"))); undone.at("change_id") == nil {
			t.Errorf("undo: %v", undone.body)
		}
	})
}

// A change shows what it is about only to a credential that may call the tool that made it, or the
// tools that read its objects. Others learn that there was a change.
func TestChangesShowTheirContentsToReaders(t *testing.T) {
	t.Parallel()
	for kind := range kinds.All() {
		rpcs, err := catalog.Load()
		if err != nil {
			t.Fatal(err)
		}
		if _, known := rpcs.Tool(history.ReaderOf(kind)); !known {
			t.Errorf("no tool reads a %s", kind)
		}
	}
	each(t, func(t *testing.T, b *bundle) {
		const name, word = "Grace Hopper", "divorce"
		id := b.made(t, `{"name":"`+name+`"}`)
		note := b.call(t, addNote, `{"connection_ids":`+idsOf(t, id)+`,"body":"`+word+`"}`)
		b.call(t, createReminder, fmt.Sprintf(`{"connection_id":%q,"text":%q,"due_on":"2099-01-01"}`, id, word))
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, note.at("change_id")))
		for scopes, shown := range map[string]string{ // newest first: undo of the note, reminder, note, person
			"account": "0000", "account write": "0000", "account timeline": "1010", "account reminders": "0100", "account connections": "0001",
			"account connections timeline reminders": "1111",
		} {
			bearer := dbtest.Token(t, b.store, b.member, strings.Fields(scopes)...)
			got := b.call(t, listChanges, `{}`, "Authorization", "Bearer "+bearer)
			seen := ""
			for i := range got.size("changes") {
				whole := b.call(t, listChanges, fmt.Sprintf(`{"change_id":%q}`, got.at("changes", i, "id")), "Authorization", "Bearer "+bearer)
				summary := fmt.Sprint(got.at("changes", i, "summary"))
				switch hidden := strings.HasPrefix(summary, "Not shown: "); {
				case hidden && whole.at("changes", 0, "objects") == nil:
					seen += "0"
				case !hidden && whole.at("changes", 0, "objects") != nil:
					seen += "1"
				default:
					t.Errorf("%s: %v", scopes, whole.body)
				}
			}
			if text := fmt.Sprint(got.body); seen != shown || !strings.Contains(shown, "1") && (strings.Contains(text, name) || strings.Contains(text, word)) {
				t.Errorf("%s: shows %s, want %s: %s", scopes, seen, shown, text)
			}
		}
	})
}
