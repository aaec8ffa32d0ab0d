package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/people"
)

// idsOf is a list of ids in JSON.
func idsOf(t *testing.T, ids ...string) string {
	t.Helper()
	text, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Several people are read in the requested order, each as by id. Ids of no person are
// listed with the reason, and the others are still read.
func TestSeveralConnectionsAreRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const unknown = "con_ch541ck879"
		ana := b.made(t, `{"name":"Ana Lopez","emails":["ana@x.example"],"tags":["music"],"organization":"Helios","title":"Luthier"}`)
		bo := b.made(t, `{"name":"Bo Chen","important_dates":[{"kind":"birthday","date":"--12-24"}]}`)
		twin := b.made(t, `{"name":"Ana Lopes"}`)
		gone := b.made(t, `{"name":"Cy Young"}`)
		for procedure, body := range map[string]string{
			addNote:     `{"connection_ids":` + idsOf(t, ana, bo) + `,"body":"rows on Sundays"}`,
			logCall:     `{"connection_ids":` + idsOf(t, bo) + `,"kind":"call","occurred_at":"2026-10-01T10:00:00Z"}`,
			linkPeople:  fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"manager"}`, ana, bo),
			mergePeople: fmt.Sprintf(`{"into_id":%q,"from_ids":[%q],"dry_run":false}`, ana, twin),
		} {
			if got := b.call(t, procedure, body); got.code() != "" {
				t.Fatalf("%s: %v", procedure, got.body)
			}
		}
		deletion := b.call(t, deletePerson, fmt.Sprintf(`{"id":%q,"confirm_name":"Cy Young"}`, gone)).at("change_id")

		const include = `"include":["notes","interactions","positions"]`
		got := b.call(t, get, `{"ids":`+idsOf(t, bo, unknown, twin, ana, gone)+`,`+include+`}`)
		for i, id := range []string{bo, ana} {
			one := b.call(t, get, fmt.Sprintf(`{"id":%q,%s}`, id, include))
			if diff := cmp.Diff(one.at("connection"), got.at("connections", i)); diff != "" || got.size("connections") != 2 {
				t.Errorf("person %d (-by id +by ids):\n%s", i, diff)
			}
		}
		if got.size("notes") != 2 || // one tells what the merge left out
			!strings.Contains(fmt.Sprint(got.at("notes", 0, "connection_ids")), bo) || got.at("interactions", 0, "connection_ids", 0) != bo ||
			got.size("positions") != 1 || got.at("positions", 0, "connection_id") != ana || got.at("connections", 0, "relationships", 0, "type") != "report" {
			t.Errorf("lists: %v", got.body)
		}
		wantMissing := []any{
			map[string]any{"id": unknown, "reason": "not_found"},
			map[string]any{"id": twin, "reason": "merged", "merged_into": ana},
			map[string]any{"id": gone, "reason": "in_bin", "change_id": deletion},
		}
		if diff := cmp.Diff(wantMissing, got.at("missing")); diff != "" || got.at("connection") != nil {
			t.Errorf("missing (-want +got):\n%s", diff)
		}
		for id, want := range map[string]struct{ code, words string }{
			unknown: {"not_found", "there is no connection " + unknown},
			twin:    {"aborted", "was merged into " + ana},
			gone:    {"not_found", fmt.Sprintf("undo_change with %v", deletion)},
		} {
			if one := b.call(t, get, fmt.Sprintf(`{"id":%q}`, id)); one.code() != want.code || !strings.Contains(one.message(), want.words) {
				t.Errorf("%s by id: %v", id, one.body)
			}
		}
		for _, wrong := range []string{
			`{}`, `{"ids":[]}`, fmt.Sprintf(`{"id":%q,"ids":[%q]}`, ana, bo), fmt.Sprintf(`{"ids":[%q,%q]}`, ana, ana), `{"ids":["Ana Lopez"]}`,
			`{"ids":["` + unknown + strings.Repeat(`","`+unknown, 20) + `"]}`,
		} {
			if got := b.call(t, get, wrong); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", wrong, got.body)
			}
		}
		stranger := dbtest.Token(t, b.store, dbtest.Member(t, b.store, "ines"), b.rpcs.Scopes()...)
		if got := b.call(t, get, `{"ids":`+idsOf(t, ana, gone, twin)+`}`, "Authorization", "Bearer "+stranger); got.size("connections") != 0 ||
			got.size("missing") != 3 || strings.Contains(fmt.Sprint(got.body), "in_bin") || strings.Contains(fmt.Sprint(got.body), "merged") {
			t.Errorf("another member's: %v", got.body)
		}
	})
}

// crowd adds 20 people and returns their ids. Each text has n characters, or as many as
// are allowed, and each list of e-mail addresses, links or tags has several entries; with more than two, so have those of
// postal addresses, accounts, labels and people who are not on file.
func crowd(t *testing.T, b *bundle, n, several int, word string) []string {
	t.Helper()
	text := func(most int) string { return strings.Repeat(word, min(n, most)) }
	var ids []string
	fields := map[string]string{}
	if several > 2 {
		for j := range people.MaxFields / 2 {
			name := fmt.Sprintf("%s%d", text(70), j)
			if made := b.call(t, "/kith.connections.v1.ConnectionService/DefineField", fmt.Sprintf(`{"name":%q}`, name)); made.code() != "" {
				t.Fatal(made.body)
			}
			fields[name] = text(1000)
		}
	}
	for i := range 20 {
		var emails, urls, tags []string
		var addresses, accounts, labels []map[string]string
		for j := range several {
			emails = append(emails, fmt.Sprintf("p%d@%d.mail.example", i, j))
			urls = append(urls, fmt.Sprintf("https://x.example/%d/%s%d", i, text(400), j))
			tags = append(tags, fmt.Sprintf("%s%d", text(50), j))
			if several <= 2 { // what most people have
				continue
			}
			labels = append(labels, map[string]string{"of": emails[j], "label": text(80)})
			accounts = append(accounts, map[string]string{"service": "signal", "handle": fmt.Sprintf("%d%s", j, text(190)), "label": text(80)})
			if j < people.MaxAddresses {
				addresses = append(addresses, map[string]string{"label": text(80), "street": fmt.Sprintf("%d %s", j, text(290)), "locality": text(100), "text": fmt.Sprintf("%d %s", j, text(590))})
			}
		}
		body, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("%s %d", text(190), i), "nickname": text(100), "organization": text(200), "title": text(160), "location": text(120),
			"bio": text(2000), "met_how": text(500), "emails": emails, "urls": urls, "tags": tags, "on_duplicate": "create",
			"addresses": addresses, "accounts": accounts, "labels": labels, "fields": fields,
		})
		if err != nil {
			t.Fatal(err)
		}
		id := b.made(t, string(body))
		ids = append(ids, id)
		for j := 0; several > 2 && j < 3; j++ {
			if got := b.call(t, link, fmt.Sprintf(`{"from_id":%q,"name":%q,"type":%q}`, id, fmt.Sprint(j, text(190)), text(80))); got.code() != "" {
				t.Fatal(got.body)
			}
		}
		for range 4 {
			note := b.call(t, addNote, fmt.Sprintf(`{"connection_ids":[%q],"body":%q}`, id, text(20_000)))
			met := b.call(t, logCall, fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","summary":%q}`, id, text(2000)))
			if note.code() != "" || met.code() != "" {
				t.Fatal(note.body, met.body)
			}
		}
	}
	return ids
}

// However much is stored about 20 people, the answer about them has 32 KB at most, and
// says whose lists and texts were cut. An answer that fits is not cut.
func TestTwentyConnectionsFit(t *testing.T) {
	t.Parallel()
	b := withMember(t, dbtest.Open(t, dbtest.SQLite(t), time.Now)) // the size of an answer does not depend on the database
	for name, c := range map[string]struct {
		n, several int
		word       string
	}{"longest": {20_000, 20, "ß"}, "quoted": {20_000, 20, `"`}, "usual": {20, 2, "m"}} {
		ids := crowd(t, b, c.n, c.several, c.word)
		for _, include := range []string{`"record","notes","interactions","positions"`, `"record"`} {
			got := b.call(t, get, `{"ids":`+idsOf(t, ids...)+`,"include":[`+include+`]}`)
			text, err := json.Marshal(got.body)
			if err != nil {
				t.Fatal(err)
			}
			notes, shortened := got.size("notes"), got.at("shortened") == true
			t.Logf("%s with [%s]: %d bytes, %d notes", name, include, len(text), notes)
			if got.size("connections") != 20 || len(text) > 32<<10 || len(text) < 12<<10 || name == "usual" && include != `"record"` && notes < 20 {
				t.Errorf("%s with [%s]: %d people, %d bytes, %d notes", name, include, got.size("connections"), len(text), notes)
			}
			if whole := name == "usual" && include == `"record"`; shortened == whole {
				t.Errorf("%s with [%s]: shortened %v", name, include, shortened)
			}
		}
		few := b.call(t, get, `{"ids":`+idsOf(t, ids[:5]...)+`,"include":["record","notes"]}`)
		if whole := few.at("shortened") == nil; whole != (name == "usual") || whole && few.size("notes") != 20 {
			t.Errorf("%s, five people: %v", name, few.body)
		}
	}
}

// Twenty people are read with as many statements as one.
func TestStatementsOfSeveralConnections(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		var made atomic.Int32
		s := dbtest.OpenBreakable(t, url, time.Now, func(statement string) error {
			if strings.Contains(statement, "connection") {
				made.Add(1)
			}
			return nil
		})
		b := serve(t, s, time.Now)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		ids := crowd(t, b, 10, 2, "m")
		count := func(arguments string) int32 {
			before := made.Load()
			if got := b.call(t, get, `{`+arguments+`,"include":["notes","interactions","positions"]}`); got.status != http.StatusOK {
				t.Fatal(got.body)
			}
			return made.Load() - before
		}
		one, twenty, byID := count(`"ids":`+idsOf(t, ids[0])), count(`"ids":`+idsOf(t, ids...)), count(fmt.Sprintf(`"id":%q`, ids[0]))
		if one != twenty || one != byID || one == 0 || one > 12 {
			t.Errorf("%d statements for one of ids, %d for twenty, %d for id", one, twenty, byID)
		}
	})
}
