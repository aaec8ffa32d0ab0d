package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/sandbox"
)

func TestExportGoldens(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, data *sandbox.Dataset) {
		ids := eventful(data)
		for format, want := range map[string]struct{ file, media string }{
			"json": {"people.json", "application/json"}, "csv": {"people.csv", "text/csv; charset=utf-8"},
			"vcard": {"people.vcf", "text/vcard"}, "jscontact": {"people.jscontact.json", "application/jscontact+json"},
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
			if len(seen) != want || !slices.IsSorted(seen) || len(slices.Compact(seen)) != want {
				t.Errorf("%s: %d people, want %d", filter, len(seen), want)
			}
		}
	})
}

// A page that notes would make too large ends early, and no person is lost.
func TestExportOfLongNotes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		body := strings.Repeat(`wörter \ " `, 1800)
		err := b.store.Tenant(b.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
			for n := range 3 {
				made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprintf("Person %d", n)})
				if err != nil {
					return err
				}
				for range 40 {
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
		people, pages := 0, 0
		for cursor := ""; ; pages++ {
			got := b.call(t, exportPeople, `{"format":"json"`+cursor+`}`)
			count, _ := got.at("count").(float64)
			if people += int(count); count == 0 {
				t.Fatal(got.body)
			}
			if got.at("has_more") == false {
				break
			}
			cursor = fmt.Sprintf(`,"cursor":%q`, got.at("next_cursor"))
		}
		if people != 3 || pages == 0 {
			t.Errorf("%d people on %d pages", people, pages+1)
		}
		if got := b.call(t, exportPeople, `{"format":"csv"}`); got.at("count") != 3.0 || got.at("has_more") != false {
			t.Errorf("csv: %v", got.at("count"))
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
			"a stranger":             {`{"format":"csv","ids":["con_00000000000000000000000000"]}`, "not_found"},
			"no selection":           {`{"format":"csv","selection":"sel_nobody"}`, "invalid_argument"},
			"ids and a selection":    {`{"format":"csv","selection":"sel_nobody","ids":["con_00000000000000000000000000"]}`, "invalid_argument"},
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
