package rpc_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/proto/connectheader"
)

const (
	importFile = "/kith.imports.v1.ImportService/ImportFile"
	undoImport = "/kith.account.v1.AccountService/UndoChange"
)

const twoPeople = "First Name,Last Name,E-mail Address\nAna,Lopez,ana@x.example\nBo,Berg,bo@x.example\n"

// inline is an import of a text.
func inline(content string, more ...string) string {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return `{"content":` + string(data) + strings.Join(more, "") + `}`
}

// finish runs jobs until the one with the number has ended, and returns it.
func (b *bundle) finish(t *testing.T, number any, now func() time.Time) answer {
	t.Helper()
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, b.store), Kinds: []job.Kind{importer.Kind(b.store, dbtest.Ledger(t, b.store)), importer.Undo(b.store, kinds.All()), export.Kind(b.store, "https://kith.example", now)}, Workers: 1, Poll: 2 * time.Millisecond, Now: now,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	runner.Start(t.Context())
	defer runner.Stop(context.Background())
	for {
		got := b.call(t, getJob, fmt.Sprintf(`{"task_id":%v,"wait_seconds":1}`, number))
		if got.code() != "" || got.at("job", "terminal") == true {
			return got
		}
	}
}

// An import starts, reports what it did, costs what the contract says, and can be undone
// as a whole.
func TestImportIsToldAndUndone(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		big := "Name,E-mail\n"
		for i := range 250 {
			big += fmt.Sprintf("P %d,p%d@x.example\n", i, i)
		}
		started := p.call(t, importFile, inline(big, `,"filename":"big.csv"`))
		if started.code() != "" || started.at("task_id") != float64(1) || started.header.Get(connectheader.CreditsCharged) != "5" {
			t.Fatalf("%v", started)
		}
		done := p.finish(t, 1, p.time)
		for name, want := range map[string]any{"total": 250.0, "created": 250.0, "updated": 0.0, "skipped": 0.0, "failed": 0.0, "format": "csv", "charset": "UTF-8"} {
			if got := done.at("job", "result", name); !strings.EqualFold(fmt.Sprint(got), fmt.Sprint(want)) {
				t.Errorf("%s: %v", name, got)
			}
		}
		if done.at("job", "state") != "succeeded" || done.at("job", "progress", "done") != 250.0 {
			t.Errorf("%v", done.body)
		}
		p.wantBalance(t, 100-5-2)
		importID := fmt.Sprint(done.at("job", "result", "import_id"))
		dry := p.call(t, undoImport, `{"import_id":"`+importID+`","dry_run":true}`)
		task := p.call(t, undoImport, `{"import_id":"`+importID+`"}`)
		same := p.call(t, undoImport, `{"import_id":"`+importID+`"}`)
		if len(task.body) != 2 || task.at("next") == nil {
			t.Errorf("the undo of an import answers more than the job: %v", task.body)
		}
		if dry.at("restored_count") != 250.0 || dry.at("task_id") != nil || task.at("task_id") != 2.0 || same.at("task_id") != 2.0 {
			t.Errorf("dry %v\nstarted %v\nagain %v", dry.at("restored_count"), task.body, same.body)
		}
		got := p.finish(t, 2, p.time)
		again := p.call(t, undoImport, `{"import_id":"`+importID+`"}`)
		if got.at("job", "kind") != importer.UndoKind || got.at("job", "result", "restored_count") != 250.0 || got.at("job", "result", "conflict_count") != 0.0 ||
			got.at("job", "result", "import_id") != importID || again.at("already_undone") != true || again.at("task_id") != nil {
			t.Errorf("undone %v\nagain %v", got.body, again.body)
		}
		if left := p.call(t, searchPath, `{"query":"P 7"}`); left.at("hits", 0) != nil {
			t.Errorf("left: %v", left.body)
		}
		if other := p.call(t, undoImport, `{"import_id":"imp_ov084ub146"}`); other.code() != "not_found" {
			t.Errorf("an import that is not: %v", other.body)
		}
		p.call(t, undoImport, fmt.Sprintf(`{"import_id":%q}`, got.at("job", "result", "undo_id")))
		if redone := p.finish(t, 3, p.time); redone.at("job", "result", "restored_count") != 250.0 {
			t.Errorf("redone: %v", redone.body)
		}
		p.wantBalance(t, 100-5-2-1) // only the search is charged
	})
}

// With wait_seconds, the answer to import_file has the job as get_job returns it, also when it is repeated.
func TestAnImportInOneCall(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.call(t, create, `{"name":"Bo Berg","organization":"Inn","title":"Cook"}`)
		runner := job.NewRunner(job.Config{
			Queue: dbtest.Queue(t, p.store), Kinds: []job.Kind{importer.Kind(p.store, dbtest.Ledger(t, p.store))}, Workers: 1, Poll: 2 * time.Millisecond, Now: p.time,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		runner.Start(t.Context())
		defer runner.Stop(context.Background())
		dry := p.call(t, importFile, inline(twoPeople, `,"dry_run":true,"wait_seconds":20`))
		rows, err := json.Marshal(dry.at("job", "result", "rows"))
		id, _ := dry.at("job", "result", "rows", 1, "may_be", 0, "id").(string)
		want := `[{"action":"add","name":"Ana Lopez","row":2},{"action":"add","may_be":[{"headline":"Cook at Inn","id":"` + id + `","why":"same name"}],"name":"Bo Berg","row":3}]`
		if err != nil || id == "" || string(rows) != want || dry.at("next") != nil {
			t.Errorf("%s, %v: %v", rows, err, dry.body)
		}
		for range 2 {
			got := p.withKey(t, "k", importFile, inline(twoPeople, `,"wait_seconds":20`))
			if got.at("job", "state") != "succeeded" || got.at("job", "result", "created") != 2.0 || got.at("job", "result", "rows") != nil ||
				got.at("task_id") != got.at("job", "job_id") || got.at("next", 0, "tool") != "find_duplicates" || got.header.Get(connectheader.CreditsCharged) != "5" {
				t.Errorf("%v", got.body)
			}
		}
	})
}

func TestImportsThatCannotStart(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for name, c := range map[string]struct{ body, code, says string }{
			"no file":            {`{}`, "not_found", "upload"},
			"two files":          {`{"content":"x","upload_id":"fil_po958dq040"}`, "invalid_argument", "one of"},
			"an unknown upload":  {`{"upload_id":"fil_po958dq040"}`, "not_found", "fil_po958dq040"},
			"no base64":          {`{"content_base64":"$$$$"}`, "invalid_argument", "base64"},
			"an unreadable file": {inline("%PDF-1.7\n1 0 obj"), "invalid_argument", ""},
			"a header only":      {inline("First Name,Last Name\n"), "invalid_argument", ""},
			"an unknown charset": {inline(twoPeople, `,"charset":"klingon"`), "invalid_argument", "charset"},
			"too many bytes":     {`{"content_base64":"` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 1<<20+2))) + `"}`, "invalid_argument", "content_base64"},
		} {
			got := p.call(t, importFile, c.body)
			if got.code() != c.code || !strings.Contains(fmt.Sprint(got.body), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if _, entries, balance := p.ledger(t, p.member); entries != 0 && balance != 100 {
			t.Errorf("%d entries, balance %d", entries, balance)
		}
	})
}

// Fifty starts at once of one file are one job and one price; another file waits.
func TestImportsStartedAtOnce(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for _, got := range together(50, func(int) answer { return p.call(t, importFile, inline(twoPeople)) }) {
			if got.at("task_id") != 1.0 {
				t.Errorf("%v", got.body)
			}
		}
		p.wantBalance(t, 95)
		for name, c := range map[string]struct{ body, code string }{
			"another file":        {inline(twoPeople + "Cy,Chen,cy@x.example\n"), "failed_precondition"},
			"the same, otherwise": {inline(twoPeople, `,"on_match":"skip"`), "failed_precondition"},
			"the default said":    {inline(twoPeople, `,"on_match":"fill_blanks","format":"auto"`), ""},
			"no file at all":      {`{}`, ""},
		} {
			got := p.call(t, importFile, c.body)
			if (got.code() == "") != (c.code == "") || c.code == "" && got.at("task_id") != 1.0 || c.code != "" && !strings.Contains(got.message(), "job 1") {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if got := p.finish(t, 1, p.time); got.at("job", "result", "created") != 2.0 {
			t.Errorf("%v", got.body)
		}
		p.wantBalance(t, 95)
	})
}

// An import finds an upload without its id. A dry run keeps the upload, an import deletes it.
func TestUploadIsImported(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		f := importer.NewFile("people.csv", []byte(twoPeople))
		err := p.store.Tenant(p.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error { return importer.InsertFile(ctx, u, f) })
		if err != nil {
			t.Fatal(err)
		}
		for i, body := range []string{`{"dry_run":true}`, `{"upload_id":"` + f.ID + `"}`} {
			if got := p.call(t, importFile, body); got.at("task_id") != float64(i+1) {
				t.Fatalf("%s: %v", body, got.body)
			}
			if got := p.finish(t, i+1, p.time); got.at("job", "result", "created") != 2.0 || got.at("job", "result", "dry_run") != (i == 0) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
		for _, body := range []string{`{}`, `{"upload_id":"` + f.ID + `"}`} {
			if got := p.call(t, importFile, body); got.code() == "" {
				t.Errorf("%s after the import: %v", body, got.body)
			}
		}
	})
}

// The choices of import_file reach the import: the order of days and months, and the meanings of columns.
func TestImportWithChosenColumnsAndDates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const file = "Name,Born,Xyzzy,Fax,Birthday\nAna,1,Sailor,nobody,03/04/1980\n"
		for order, want := range map[string]string{"dmy": "1980-04-03", "mdy": "1980-03-04"} {
			started := b.call(t, importFile, inline(file, `,"filename":"`+order+`.csv","on_match":"overwrite","date_order":"`+order+
				`","columns":[{"header":"xyzzy","meaning":"job_title"},{"header":"Fax","meaning":"ignore"}]`))
			done := b.finish(t, started.at("task_id"), time.Now)
			if done.at("job", "state") != "succeeded" || done.at("job", "result", "total") != 1.0 {
				t.Fatalf("%s: %v %v", order, started.body, done.body)
			}
			hits := b.call(t, searchPath, `{"query":"Ana","include":["birthday"]}`)
			id, _ := hits.at("hits", 0, "id").(string)
			person := b.call(t, get, fmt.Sprintf(`{"id":%q,"include":["notes"]}`, id))
			text := fmt.Sprint(person.body)
			if person.at("connection", "title") != "Sailor" || !strings.Contains(text, want) || strings.Contains(text, "nobody") {
				t.Errorf("%s: %s", order, text)
			}
			b.call(t, undoImport, fmt.Sprintf(`{"import_id":%q}`, done.at("job", "result", "import_id")))
			b.finish(t, started.at("task_id").(float64)+1, time.Now) //nolint:forcetypeassert // it was started
		}
		for wrong, words := range map[string]string{
			`"date_order":"sometimes"`:                         "date_order",
			`"columns":[{"header":"Nope","meaning":"bio"}]`:    `the file has no column "Nope"; its columns are "Name", "Born"`,
			`"columns":[{"header":"Xyzzy","meaning":"sauce"}]`: `is no meaning of a column`,
		} {
			if got := b.call(t, importFile, inline(file, ","+wrong)); got.code() != "invalid_argument" || !strings.Contains(got.message(), words) {
				t.Errorf("%s: %v", wrong, got.body)
			}
		}
	})
}

// A report names the first warnings, and counts the others.
func TestFurtherWarningsAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const rows = 80
		var file strings.Builder
		file.WriteString("Name,Birthday\n")
		for i := range rows {
			fmt.Fprintf(&file, "Person %d,the %dth of never\n", i, i)
		}
		done := b.finish(t, b.call(t, importFile, inline(file.String(), `,"dry_run":true`)).at("task_id"), time.Now)
		shown, _ := done.at("job", "result", "warnings").([]any)
		more, _ := done.at("job", "result", "more_warnings").(float64)
		if len(shown) == 0 || more == 0 || len(shown)+int(more) != rows {
			t.Errorf("%d warnings and %v more of %d: %v", len(shown), more, rows, done.body)
		}
	})
}

// The words of a closed set may have capitals, spaces and hyphens.
func TestRelationsAsTheyAreMeant(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for word, want := range map[string]string{"child of": "parent", "Parent-Of": "child", "introduced by": "introduced_by", "Introduced": "introduced", "REPORTS TO": "manager"} {
			ana, ben := b.made(t, `{"name":"Ana `+want+`","on_duplicate":"create"}`), b.made(t, `{"name":"Ben `+want+`","on_duplicate":"create"}`)
			got := b.call(t, linkPeople, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":%q}`, ana, ben, word))
			if got.at("relationships", 0, "type") != want {
				t.Errorf("%s: %v", word, got.body)
			}
		}
		if got := b.call(t, searchPath, `{"query":"ana","has":["E-Mail"],"include":["Birthday"],"sort":"Last contact"}`); got.code() != "invalid_argument" || strings.Contains(got.message(), "sort") {
			t.Errorf("%v", got.body)
		}
	})
}
