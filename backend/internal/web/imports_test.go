package web_test

import (
	"bytes"
	"context"
	"log/slog"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// uploads sends the form with a file.
func uploads(t *testing.T, b *webtest.Browser, token, name, content string, fields ...string) *webtest.Page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	fields = append([]string{"form_token", token}, fields...)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base := b.Request(http.MethodGet, "/settings/imports", nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.URL.String(), &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = base.Header
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.Do(r)
}

// worked runs all queued jobs.
func worked(t *testing.T, s *webtest.Site, owner *webtest.Browser, kind string) {
	t.Helper()
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, s.Store), Kinds: []job.Kind{importer.Kind(s.Store, dbtest.Ledger(t, s.Store)), importer.Undo(s.Store, kinds.All())}, Workers: 1, Poll: time.Millisecond, Now: s.Clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	runner.Start(t.Context())
	defer runner.Stop(context.Background())
	for {
		jobs, err := job.ListJobs(t.Context(), s.Store.Tenant(owner.Owner, true), kind, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == 0 || jobs[0].Terminal() {
			return
		}
		runner.Wake()
	}
}

const someone = "Name,E-mail\nAna Lopez,ana@x.example\n,,\n<script>alert(1)</script>,eve@x.example\n"

// A file is uploaded, imported, shown and undone, without a script.
func TestImportOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		page := b.Get("/settings/imports")
		if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'; connect-src 'self'") || !strings.Contains(page.Body, "/assets/imports.js?v=") {
			t.Errorf("the script: %s", csp)
		}
		token := tokenOf(page)
		done := uploads(t, b, token, "people.csv", someone, "action", "import", "on_match", "fill_blanks", "format", "auto", "tags", "new, and old")
		if live := b.Follow(done); !strings.Contains(live.Body, `data-live="true"`) || !strings.Contains(live.Body, "<progress") {
			t.Errorf("live:\n%s", live.Body)
		}
		worked(t, s, b, importer.JobKind)
		ended := b.Get("/settings/imports")
		for _, want := range []string{"succeeded", "people.csv", "2 added", `data-live="false"`, "Take back"} {
			if !strings.Contains(ended.Body, want) {
				t.Errorf("%q is missing:\n%s", want, ended.Body)
			}
		}
		if strings.Contains(ended.Body, "<script>alert") {
			t.Error("a name became markup")
		}
		back := b.Follow(b.Submit(ended, "/settings/imports/undo", nil))
		if strings.Contains(back.Body, "Take back") || !strings.Contains(back.Body, "Being taken back: 0 of 1 steps") || !strings.Contains(back.Body, `data-live="true"`) {
			t.Errorf("while it is undone:\n%s", back.Body)
		}
		worked(t, s, b, importer.UndoKind)
		undone := b.Get("/settings/imports")
		if strings.Contains(undone.Body, "aken back") || strings.Contains(undone.Body, "Take back") || !strings.Contains(undone.Body, `data-live="false"`) {
			t.Errorf("undone:\n%s", undone.Body)
		}
		twice := b.Follow(b.Submit(ended, "/settings/imports/undo", nil))
		if !strings.Contains(twice.Body, "undone already") {
			t.Errorf("undone twice:\n%s", twice.Body)
		}
	})
}

// The page shows what remains of an import after its undo.
func TestWhatStaysOfAnImport(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		uploads(t, b, tokenOf(b.Get("/settings/imports")), "people.csv", someone, "action", "import")
		worked(t, s, b, importer.JobKind)
		data := s.Store.Tenant(b.Owner, false)
		page, _, err := export.ListPeople(t.Context(), data, export.PeopleFilter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = data.Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
			_, err := people.Update(ctx, u, people.Patch{ID: page.People[0].ID, Bio: new("new")})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Submit(b.Get("/settings/imports"), "/settings/imports/undo", nil)
		worked(t, s, b, importer.UndoKind)
		body := b.Get("/settings/imports").Body
		for _, want := range []string{"Taken back, but for 1 that stay as they are.", "it was changed since: bio", "Take back"} {
			if !strings.Contains(body, want) {
				t.Errorf("%q is missing:\n%s", want, body)
			}
		}
	})
}

// Errors of an upload are shown beside the field; a stored file waits for an agent.
func TestUploadsOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		token := tokenOf(b.Get("/settings/imports"))
		for name, p := range map[string]*webtest.Page{
			"no file":      uploads(t, b, token, "", "", "action", "import"),
			"an empty one": uploads(t, b, token, "a.csv", "", "action", "import"),
			"a PDF":        uploads(t, b, token, "a.pdf", "%PDF-1.7\n%\x01\x02", "action", "import"),
			"no country":   uploads(t, b, token, "a.csv", someone, "default_region", "XX"),
			"many tags":    uploads(t, b, token, "a.csv", someone, "tags", strings.Repeat("a,b", 90)+strings.Repeat("x", 61)),
		} {
			if p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Something has to be mended") {
				t.Errorf("%s: %d", name, p.Status)
			}
		}
		if p := uploads(t, b, "wrong", "a.csv", someone); p.Status != http.StatusForbidden {
			t.Errorf("a wrong token: %d", p.Status)
		}
		if p := uploads(t, b, token, "a.csv", strings.Repeat("x", importer.MaxFile+100<<10)); p.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("too large: %d", p.Status)
		}
		if p := uploads(t, s.Browser(t), token, "a.csv", someone); p.Status != http.StatusSeeOther {
			t.Errorf("signed out: %d", p.Status)
		}
		kept := b.Follow(uploads(t, b, token, "kept.csv", someone, "action", "keep"))
		if !strings.Contains(kept.Body, "fil_") || !strings.Contains(kept.Body, "kept.csv") {
			t.Errorf("stored:\n%s", kept.Body)
		}
		started := b.Follow(b.Submit(kept, "/settings/imports/start", nil))
		if !strings.Contains(started.Body, "Cancel") {
			t.Errorf("started:\n%s", started.Body)
		}
		if p := uploads(t, b, token, "other.csv", someone+"Bo,bo@x.example\n", "action", "import"); p.Status != http.StatusConflict {
			t.Errorf("another one meanwhile: %d", p.Status)
		}
		if cancelled := b.Follow(b.Submit(started, "/settings/imports/cancel", nil)); !strings.Contains(cancelled.Body, "cancelled") {
			t.Errorf("cancelled:\n%s", cancelled.Body)
		}
	})
}
