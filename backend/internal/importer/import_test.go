package importer_test

import (
	"context"
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
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// fixture is a member who imports files.
type fixture struct {
	store *db.DB
	owner tenant.ID
	now   func() time.Time
}

func eachDatabase(t *testing.T, test func(t *testing.T, d *fixture)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		test(t, &fixture{store: s, owner: dbtest.Member(t, s, "maria"), now: time.Now})
	})
}

// start starts an import of a file, as the tool does.
func (d *fixture) start(t testing.TB, name, content string, o importer.Options) (*job.Job, error) {
	t.Helper()
	return d.startRequest(t, importer.Request{File: importer.NewFile(name, []byte(content)), Options: o, Free: true})
}

func (d *fixture) startRequest(t testing.TB, r importer.Request) (j *job.Job, err error) {
	t.Helper()
	data := d.store.Tenant(d.owner, false)
	if _, err := dbtest.Ledger(t, data.Service()).OpenMonth(t.Context(), data.TenantID()); err != nil {
		t.Fatal(err)
	}
	err = data.Write(t.Context(), db.Actor{CredentialID: "pat_1", CredentialName: "test", Tool: "import_file"}, func(ctx context.Context, u *db.Tx) error {
		j, _, err = importer.Start(ctx, u, r)
		return err
	})
	return j, err
}

// work runs the jobs of a store until the job has ended.
func (d *fixture) work(t testing.TB, step importer.StepFunc, j *job.Job) *job.Job {
	t.Helper()
	return d.until(t, step, j, (*job.Job).Terminal)
}

// until runs the jobs of a store until the job is as wanted.
func (d *fixture) until(t testing.TB, step importer.StepFunc, j *job.Job, wanted func(*job.Job) bool) *job.Job {
	t.Helper()
	var hub job.Hub
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, d.store), Kinds: []job.Kind{importer.KindInSteps(d.store, dbtest.Ledger(t, d.store), 10, step), importer.UndoInSteps(d.store, kinds.All(), step)}, Workers: 1, Poll: 2 * time.Millisecond, Backoff: time.Millisecond,
		Lease: 10 * time.Second, Now: d.now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Changed: hub.Changed,
	})
	runner.Start(t.Context())
	defer runner.Stop(context.Background())
	for {
		changed, stop := hub.Watch(j.TenantID, j.Number)
		got, err := job.GetJob(t.Context(), d.store.Tenant(d.owner, true), j.Number)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(got) {
			stop()
			return got
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the job does not end")
		}
		stop()
	}
}

// imports imports a file and returns its report.
func (d *fixture) imports(t testing.TB, name, content string, o importer.Options) importer.Report {
	t.Helper()
	j, err := d.start(t, name, content, o)
	if err != nil {
		t.Fatal(err)
	}
	return report(t, d.work(t, job.WriteStepFor, j))
}

func report(t testing.TB, j *job.Job) importer.Report {
	t.Helper()
	var r importer.Report
	if err := json.Unmarshal([]byte(j.Result), &r); err != nil {
		t.Fatalf("job %s %s %s: %q: %v", j.State, j.ErrorCode, j.ErrorDetail, j.Result, err)
	}
	if r.Total != r.Created+r.Updated+r.Skipped+r.Failed {
		t.Errorf("the counts do not sum up: %+v", r)
	}
	return r
}

func counts(r importer.Report) string {
	return fmt.Sprintf("%d = %d created, %d updated, %d skipped, %d failed", r.Total, r.Created, r.Updated, r.Skipped, r.Failed)
}

// export returns the member's stored data, as a lossless export.
func (d *fixture) export(t testing.TB) export.Document {
	t.Helper()
	page, more, err := export.ListPeople(t.Context(), d.store.Tenant(d.owner, true), export.PeopleFilter{Limit: 100_000, Timeline: true, Archived: true, Photos: true})
	if err != nil || more {
		t.Fatalf("%v, more: %t", err, more)
	}
	content, _, err := export.Write(export.JSON, page)
	if err != nil {
		t.Fatal(err)
	}
	var doc export.Document
	if err := json.Unmarshal([]byte(content), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

const three = `First Name,Last Name,URL,Email Address,Company,Position,Connected On
Ana,López,https://www.linkedin.com/in/ana-lopez,ana@acme.example,Acme,CTO,02 Jan 2024
Bo,Berg,https://www.linkedin.com/in/bo-berg,,Acme,Engineer,03 Jan 2024
Cy,Chen,,cy@chen.example,Chen Ltd,Founder,04 Jan 2024
`

func TestImportedAgainChangesNothing(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"linkedin.csv": three,
		"cards.vcf":    "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Only Name\r\nEND:VCARD\r\nBEGIN:VCARD\r\nVERSION:3.0\r\nFN:Only Name\r\nEND:VCARD\r\nBEGIN:VCARD\r\nVERSION:3.0\r\nUID:1\r\nFN:Dana\r\nTITLE:CEO\r\nORG:X\r\nCATEGORIES:vip\r\nTEL:+12125550100\r\nBDAY:1990-02-03\r\nNOTE:" + strings.Repeat("long ", 600) + "\r\nEND:VCARD\r\n",
	}
	eachDatabase(t, func(t *testing.T, d *fixture) {
		for name, content := range files {
			dry := d.imports(t, name, content, importer.Options{DryRun: true, Tags: []string{"new"}})
			first := d.imports(t, name, content, importer.Options{Tags: []string{"new"}})
			if counts(first) != "3 = 3 created, 0 updated, 0 skipped, 0 failed" || counts(dry) != counts(first) {
				t.Errorf("%s: %s %v, dry %s", name, counts(first), first.Errors, counts(dry))
			}
			before := d.export(t)
			for _, onMatch := range []string{"", importer.OnMatchSkip, importer.OnMatchFillBlanks, importer.OnMatchOverwrite} {
				for _, dryRun := range []bool{true, false} {
					again := d.imports(t, name, content, importer.Options{OnMatch: onMatch, Tags: []string{"new"}, DryRun: dryRun})
					if counts(again) != "3 = 0 created, 0 updated, 3 skipped, 0 failed" {
						t.Errorf("%s, %q, again: %s", name, onMatch, counts(again))
					}
				}
			}
			if after := d.export(t); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Errorf("%s: changed\n%+v\n%+v", name, before, after)
			}
		}
	})
}

// An import and its dry run report the same, and so do two imports in either order.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "three.csv", three, importer.Options{})
		before := fmt.Sprint(d.export(t))
		more := "Name,E-mail,Phone,Company\nAna L.,ana@acme.example,+1 212 555 0101,Acme\nNew One,new@x.example,,\nNew Again,new@x.example,+1 212 555 0102,\n,,,\n,,+1 212 555 0199,\n"
		for _, onMatch := range []string{importer.OnMatchSkip, importer.OnMatchFillBlanks, importer.OnMatchOverwrite} {
			dry := d.imports(t, "more.csv", more, importer.Options{OnMatch: onMatch, DryRun: true})
			if got := fmt.Sprint(d.export(t)); got != before {
				t.Fatalf("%s: the dry run wrote:\n%s\n%s", onMatch, before, got)
			}
			real := d.imports(t, "more.csv", more, importer.Options{OnMatch: onMatch})
			if counts(dry) != counts(real) {
				t.Errorf("%s: dry %s, real %s", onMatch, counts(dry), counts(real))
			}
			if real.Created+real.Updated > 0 {
				d.undoes(t, real.ImportID)
			}
		}
	})
}

// another adds another member.
func (d *fixture) another(t *testing.T) tenant.ID {
	t.Helper()
	return dbtest.Member(t, d.store, "another")
}
