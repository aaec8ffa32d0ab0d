package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/proto/connectheader"
	"github.com/kith-crm/kith/sandbox"
)

func TestExportGoldens(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, data *sandbox.Dataset) {
		ids := eventful(data)
		for format, want := range map[string]struct{ file, media string }{
			"json": {"people.json", "application/json"}, "csv": {"people.csv", "text/csv; charset=utf-8"},
			"vcard": {"people.vcf", "text/vcard"}, "vcard3": {"people3.vcf", "text/vcard"}, "jscontact": {"people.jscontact.json", "application/jscontact+json"},
		} {
			got := b.call(t, exportPeople, fmt.Sprintf(`{"format":%q,"ids":[%q,%q,%q]}`, format, ids[0], ids[1], ids[3]))
			content, _ := got.at("content").(string)
			if got.at("media_type") != want.media || got.at("count") != 3.0 || got.at("has_more") != false {
				t.Errorf("%s: %v", format, got.body)
			}
			goldenText(t, "export/"+want.file, content)
		}
	})
}

// All pages together contain each person once, with any filter.
func TestExportPages(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, data *sandbox.Dataset) {
		const tag = "ai"
		tagged, grouped := 0, 0
		for _, c := range data.Connections {
			if slices.Contains(c.Tags, tag) {
				tagged++
			}
			if slices.Contains(c.Groups, data.Groups[0].Name) {
				grouped++
			}
		}
		for filter, want := range map[string]int{
			``: len(data.Connections),
			b.selected(t, fmt.Sprintf(`"tag":[%q]`, strings.ToUpper(tag))): tagged,
			b.selected(t, fmt.Sprintf(`"group":%q`, data.Groups[0].ID)):    grouped,
			b.selected(t, fmt.Sprintf(`"group":%q`, data.Groups[0].Name)):  grouped,
		} {
			var seen []string
			for cursor := ""; ; {
				got := b.call(t, exportPeople, `{"format":"json","limit":37`+filter+cursor+`}`)
				content, _ := got.at("content").(string)
				var doc export.Document
				if err := json.Unmarshal([]byte(content), &doc); err != nil {
					t.Fatalf("%s: %v: %v", filter, err, got.body)
				}
				for _, p := range doc.People {
					seen = append(seen, p.ID)
				}
				next, more := got.at("next_cursor").(string)
				if got.at("has_more") != more {
					t.Fatalf("%s: %v with cursor %q", filter, got.at("has_more"), next)
				}
				if !more {
					break
				}
				cursor = fmt.Sprintf(`,"cursor":%q`, next)
			}
			slices.Sort(seen)
			if len(seen) != want || len(slices.Compact(seen)) != want {
				t.Errorf("%s: %d people, want %d", filter, len(seen), want)
			}
		}
	})
}

// talkative creates people with so many notes that no two of them fit into an answer.
func talkative(t *testing.T, b *bundle, count int) {
	t.Helper()
	body := strings.Repeat(`wörter \ " `, 1800)
	err := b.store.Tenant(b.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		for n := range count {
			made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprintf("Person %d", n)})
			if err != nil {
				return err
			}
			for range 2 {
				if _, _, err := timeline.AddNote(ctx, u, timeline.Note{ConnectionIDs: []string{made.Connection.ID}, Body: body}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// People who do not fit into an answer are exported to a file, by a job that is charged once.
func TestExportBecomesFile(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		talkative(t, p.bundle, 3)
		const whole = `{"format":"json"}`
		got := p.withKey(t, "k", exportPeople, whole)
		if got.at("task_id") != 1.0 || got.at("content") != "" || got.at("count") != 3.0 || got.at("has_more") != false ||
			!strings.Contains(fmt.Sprint(got.at("note")), "32 KB") || got.header.Get(connectheader.CreditsCharged) != "2" || got.header.Get(connectheader.CreditsRemaining) != "98" {
			t.Errorf("%v %v", got.body, got.header)
		}
		wantReplay(t, got, p.withKey(t, "k", exportPeople, whole))
		wantNext(t, "an export as a job", got, "get_job map[task_id:1 wait_seconds:20]")
		if again := p.call(t, exportPeople, whole); again.at("task_id") != 1.0 || again.header.Get(connectheader.CreditsCharged) != "" {
			t.Errorf("the same while it is made: %v %v", again.body, again.header)
		}
		other := p.call(t, exportPeople, `{"format":"json"`+p.selected(t, `"query":"Person"`)+`}`)
		if other.code() != "aborted" || !strings.Contains(other.text(), "task_id 1") {
			t.Errorf("another one while it is made: %v", other.body)
		}
		done := p.finish(t, 1, p.time)
		url, _ := done.at("job", "result", "download_url").(string)
		size, _ := done.at("job", "result", "bytes").(float64)
		if !strings.HasPrefix(url, "https://kith.example/settings/exports/job_") || done.at("job", "result", "count") != 3.0 || size < 3*2*1800*11 ||
			done.at("job", "result", "expires_at") != p.time().Add(export.FileLifetime).Format(time.RFC3339) {
			t.Errorf("%v", done.body)
		}
		if csv := p.call(t, exportPeople, `{"format":"csv"}`); csv.at("count") != 3.0 || csv.at("task_id") != nil || csv.at("content") == "" {
			t.Errorf("csv: %v", csv.body)
		}
		if one := p.call(t, exportPeople, `{"format":"json","limit":1}`); one.code() != "invalid_argument" || !strings.Contains(one.text(), "leave out limit") {
			t.Errorf("a page of one who does not fit: %v", one.body)
		}
		if cards := p.call(t, exportPeople, `{"format":"vcard","limit":2}`); cards.at("count") != 2.0 || cards.at("has_more") != true {
			t.Errorf("a page: %v", cards.body)
		}
	})
}

// Without credits, no file is made.
func TestExportFileIsPaidFor(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1, func(t *testing.T, p *paid) {
		talkative(t, p.bundle, 1)
		if got := p.call(t, exportPeople, `{"format":"json"}`); got.code() != "resource_exhausted" {
			t.Errorf("%v", got.body)
		}
		if got := p.call(t, getJob, `{"task_id":1}`); got.code() != "not_found" {
			t.Errorf("a job was started: %v", got.body)
		}
	})
}

func TestExportRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for range 2 {
			b.call(t, create, `{"name":"Ana","on_duplicate":"create"}`)
		}
		page := b.call(t, exportPeople, `{"format":"csv","limit":1}`)
		for name, c := range map[string]struct{ body, code string }{
			"no format":              {`{}`, "invalid_argument"},
			"another format":         {`{"format":"xlsx"}`, "invalid_argument"},
			"a stranger":             {`{"format":"csv","ids":["con_ch541ck879"]}`, "not_found"},
			"no selection":           {`{"format":"csv","selection":"sel_nobody"}`, "invalid_argument"},
			"ids and a selection":    {`{"format":"csv","selection":"sel_nobody","ids":["con_ch541ck879"]}`, "invalid_argument"},
			"another list's cursor":  {fmt.Sprintf(`{"format":"vcard","cursor":%q}`, page.at("next_cursor")), "invalid_argument"},
			"too many":               {`{"format":"csv","limit":201}`, "invalid_argument"},
			"this list's own cursor": {fmt.Sprintf(`{"format":"csv","cursor":%q}`, page.at("next_cursor")), ""},
		} {
			if got := b.call(t, exportPeople, c.body); got.code() != c.code {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}
