package importing_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"regexp"
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
	"github.com/kith-crm/kith/sandbox"
)

// want checks a page, and that it shows no internal id.
func want(t *testing.T, p *webtest.Page, status int, words ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, not %d:\n%s", p.Status, status, p.Text())
	}
	for _, w := range words {
		if !strings.Contains(p.Text(), w) {
			t.Errorf("no %q in:\n%s", w, p.Text())
		}
	}
	if id := regexp.MustCompile(`\b(fil|con|imp|job|chg)_\w+`).FindString(p.Text()); id != "" {
		t.Errorf("it shows the id %s", id)
	}
}

// upload sends the form with a file. Without a name there is no file.
func upload(t *testing.T, b *webtest.Browser, token, name, content string) *webtest.Page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("form_token", token) // into memory
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	_ = w.Close()
	base := b.Request(http.MethodGet, "/import", nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.URL.String(), &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = base.Header
	r.Header.Set("Content-Type", w.FormDataContentType())
	return b.Do(r)
}

// uploaded uploads a file, and returns the address of its page.
func uploaded(t *testing.T, b *webtest.Browser, name, content string) string {
	t.Helper()
	p := upload(t, b, b.Get("/import").Form("/import").Get("form_token"), name, content)
	if p.Status != http.StatusSeeOther {
		t.Fatalf("status %d:\n%s", p.Status, p.Text())
	}
	return strings.TrimSuffix(p.Header.Get("Location"), "/preview")
}

// A file whose columns Kith recognises leads to its preview, with the country of the member's time zone for phone
// numbers; one with another column leads to the columns.
func TestRecognisedFilesArePreviewed(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	want(t, b.Follow(b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("timezone", "Europe/Berlin"))), http.StatusOK, "Your time zone and your language are saved.")
	token := b.Get("/import").Form("/import").Get("form_token")
	to := upload(t, b, token, "people.csv", "Name,Phone\nAda Stone,030 1234567\n").Header.Get("Location")
	path, straight := strings.CutSuffix(to, "/preview")
	if !straight {
		t.Fatalf("a recognised file leads to %s", to)
	}
	columns := b.Get(path)
	if got := columns.Form(path).Get("default_region"); got != "DE" {
		t.Errorf("the country is %q", got)
	}
	want(t, columns, http.StatusOK, "2 recognised columns: Name, Phone")
	started(t, b, path, b.Get(to))
	worked(t, s, b, importer.JobKind)
	want(t, b.Get("/people/"+stored(t, s, b)["Ada Stone"]), http.StatusOK, "+49 30 1234567")
	for name, content := range map[string]string{"unknown.csv": custom, "twice.csv": "Name,Hat\nBo Lind,green\n"} {
		if to := upload(t, b, token, name, content).Header.Get("Location"); strings.HasSuffix(to, "/preview") {
			t.Errorf("%s leads to %s", name, to)
		}
	}
}

// previewed uploads a file and accepts its columns. It returns the address of its page, and the
// preview.
func previewed(t *testing.T, b *webtest.Browser, name, content string) (path string, p *webtest.Page) {
	t.Helper()
	path = uploaded(t, b, name, content)
	return path, b.Follow(b.Submit(b.Get(path), path, nil))
}

// started starts an import from its preview, and returns the address of its progress.
func started(t *testing.T, b *webtest.Browser, path string, p *webtest.Page) string {
	t.Helper()
	to := b.Submit(p, path+"/preview", webtest.Values("act", "start"))
	if to.Status != http.StatusSeeOther || !strings.HasSuffix(to.Header.Get("Location"), "/progress") {
		t.Fatalf("status %d to %s:\n%s", to.Status, to.Header.Get("Location"), to.Text())
	}
	return to.Header.Get("Location")
}

// worked runs the member's queued jobs of a kind.
func worked(t *testing.T, s *webtest.Site, owner *webtest.Browser, kind string) {
	t.Helper()
	var hub job.Hub
	runner := job.NewRunner(job.Config{
		Queue: dbtest.Queue(t, s.Store), Kinds: []job.Kind{importer.Kind(s.Store, dbtest.Ledger(t, s.Store)), importer.Undo(s.Store, kinds.All())},
		Workers: 1, Poll: time.Millisecond, Now: s.Clock.Now, Logger: slog.New(slog.DiscardHandler), Changed: hub.Changed,
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
		changed, stop := hub.Watch(owner.Owner, jobs[0].Number)
		runner.Wake()
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond): // it may have changed before the watch began
		}
		stop()
	}
}

// stored returns the ids of a member's people by their names.
func stored(t *testing.T, s *webtest.Site, b *webtest.Browser) map[string]string {
	t.Helper()
	page, _, err := export.ListPeople(t.Context(), s.Store.Tenant(b.Owner, true), export.PeopleFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range page.People {
		out[p.Name] = p.ID
	}
	return out
}

// The samples for newcomers go through without a change: file, columns, preview, import, people,
// undo.
func TestSamplesGoThrough(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		for name, n := range map[string]int{"linkedin_connections.csv": 16, "google_contacts.csv": 14, "contacts_vcard21.vcf": 13} {
			content, err := fs.ReadFile(sandbox.Files(), name)
			if err != nil {
				t.Fatal(err)
			}
			b := s.SignedIn(t, strings.ToLower(regexp.MustCompile(`[^a-z]`).ReplaceAllString(name, "")))
			path, p := previewed(t, b, name, string(content))
			want(t, p, http.StatusOK, "Preview of the import", fmt.Sprintf("Import %d people", n), fmt.Sprintf("All %d", n))
			if len(stored(t, s, b)) != 0 {
				t.Errorf("%s: the preview added people", name)
			}
			progress := started(t, b, path, p)
			live := b.Get(progress)
			want(t, live, http.StatusOK, "Import of "+name, "Show the progress")
			if !strings.Contains(live.Body, `data-live="true"`) || !strings.Contains(live.Body, "<progress") {
				t.Errorf("live:\n%s", live.Body)
			}
			worked(t, s, b, importer.JobKind)
			ended := b.Get(progress)
			want(t, ended, http.StatusOK, fmt.Sprintf("%d people added", len(stored(t, s, b))), "See your", "Undo")
			if strings.Contains(ended.Text(), "failed") || len(stored(t, s, b)) > n {
				t.Errorf("%s: %s", name, ended.Text())
			}
			all := b.Get(webtest.LinkTo(ended, fmt.Sprintf("See your %d people", len(stored(t, s, b)))))
			want(t, all, http.StatusOK, fmt.Sprintf("%d people were added", len(stored(t, s, b))))
			for person, id := range stored(t, s, b) {
				if webtest.LinkTo(all, person) != "/people/"+id {
					t.Errorf("%s: no link to %s", name, person)
				}
			}
			want(t, b.Follow(b.Submit(ended, "/settings/imports/undo", nil)), http.StatusOK, "The import is being undone.", "Being undone: 0 of 1 steps")
			worked(t, s, b, importer.UndoKind)
			want(t, b.Get(progress), http.StatusOK, "done")
			if left := stored(t, s, b); len(left) != 0 {
				t.Errorf("%s: left %v", name, left)
			}
			want(t, b.Follow(b.Submit(ended, "/settings/imports/undo", nil)), http.StatusOK, "undone already")
		}
	})
}

const custom = "Name,E-mail,Handle,Diet\nAna Lee,ana@x.example,Annie,vegan\nBo Berg,cy@x.example,,\n"

// Dates that cannot be read are counted before and after the import.
func TestUnreadDatesAreCounted(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		const file = "Name,Email,Birthday\nAda Stone,ada@helios.example,1990-05-14\nBo Lind,bo@helios.example,in spring\nCy Marsh,cy@helios.example,the 40th\n"
		path, preview := previewed(t, b, "people.csv", file)
		want(t, preview, http.StatusOK, "2 dates in this file cannot be read and will be kept as text in a note", "in spring", "the 40th")
		want(t, preview, http.StatusOK, "How each column is read", "BirthdayBirthday1020", "EmailE-mail3000")
		progress := started(t, b, path, preview)
		worked(t, s, b, importer.JobKind)
		want(t, b.Get(progress), http.StatusOK, "2 dates could not be read and are kept in a note.", "BirthdayBirthday1020")
		_, clean := previewed(t, b, "others.csv", "Name,Birthday\nDi Ray,1990-05-14\n")
		if strings.Contains(clean.Text(), "cannot be read") {
			t.Errorf("a date of a good file cannot be read:\n%s", clean.Text())
		}
	})
}

// A member's choices survive reloads and errors, and the import applies them.
func TestChoicesAreKept(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		webtest.By(t, s, b.Owner, "test", func(ctx context.Context, tx *db.Tx) (people.Written, error) {
			return people.Create(ctx, tx, people.Draft{Name: "Cy Chen", Emails: []string{"cy@x.example"}})
		})
		path := uploaded(t, b, "custom.csv", custom)
		if again := uploaded(t, b, "custom.csv", custom); again != path {
			t.Errorf("uploaded twice: %s and %s", path, again)
		}
		columns := b.Get(path)
		want(t, columns, http.StatusOK, "Another table (CSV), 2 rows.", "Annie", "vegan")
		if f := columns.Form(path); f.Get("column-1") != "name" || f.Get("column-2") != "email" || f.Get("column-3") != "note" || f.Get("column-4") != "note" {
			t.Errorf("suggested: %v", f)
		}

		wrong := b.Submit(columns, path, webtest.Values("column-3", "name", "column-4", "no such field", "tags", strings.Repeat("x", 61), "default_region", "XX"))
		want(t, wrong, http.StatusUnprocessableEntity, "Name has this meaning already", "Choose what the column means.", "at most 20 tags", "is no country")
		if f := wrong.Form(path); f.Get("column-3") != "name" || f.Get("tags") != strings.Repeat("x", 61) || f.Get("default_region") != "XX" {
			t.Errorf("lost: %v", f)
		}
		want(t, b.Submit(columns, path, webtest.Values("column-1", "ignore", "column-2", "ignore")), http.StatusUnprocessableEntity, "No column says who the people are")
		want(t, b.Submit(columns, path, webtest.Values("format", "x", "on_match", "x")), http.StatusUnprocessableEntity, "Choose the format of the file.", "Choose what to do with people")
		want(t, b.Submit(columns, path, webtest.Values("format", "vcard")), http.StatusUnprocessableEntity, "Error:")

		preview := b.Follow(b.Submit(columns, path, webtest.Values("column-3", "nickname", "tags", "new")))
		want(t, preview, http.StatusOK, "Please check 1", "May be Cy Chen (same e-mail address)", "It is Cy Chen: same e-mail address", "New 1")
		if f := b.Get(path).Form(path); f.Get("column-3") != "nickname" || f.Get("tags") != "new" {
			t.Errorf("going back lost %v", f)
		}
		form := path + "/preview"
		same := ""
		for _, o := range preview.All("option") {
			if strings.HasPrefix(webtest.Attr(o, "value"), "same:con_") {
				same = webtest.Attr(o, "value")
			}
		}
		applied := b.Follow(b.Submit(preview, form, webtest.Values("row-2", "skip", "row-3", same, "show", "known")))
		want(t, applied, http.StatusOK, "Left out 1", "Known 1", "Import 1 person")
		all := b.Get(form)
		if f := all.Form(form); f.Get("row-2") != "skip" || f.Get("row-3") != same {
			t.Errorf("reloading lost %v", f)
		}
		want(t, b.Submit(all, form, webtest.Values("row-2", "x")), http.StatusUnprocessableEntity, "Choose what to do with the row.")
		want(t, b.Submit(all, form, webtest.Values("row-0", "new")), http.StatusUnprocessableEntity, "a row that is not there")

		progress := started(t, b, path, all)
		if p := b.Get(path); p.Status != http.StatusSeeOther || p.Header.Get("Location") != progress {
			t.Errorf("the page of the file leads to %d %s", p.Status, p.Header.Get("Location"))
		}
		if p := b.Submit(all, form, webtest.Values("act", "start")); p.Header.Get("Location") != progress {
			t.Errorf("a second start leads to %d %s", p.Status, p.Header.Get("Location"))
		}
		worked(t, s, b, importer.JobKind)
		want(t, b.Get(progress), http.StatusOK, "1 person changed, 1 skipped.")
		if got := stored(t, s, b); len(got) != 1 {
			t.Errorf("%v", got)
		}
	})
}

// If another import is running, an error at the button says so, and the choices are kept. The page
// of a deleted file says that it no longer exists.
func TestOtherImportIsRunning(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		first, p := previewed(t, b, "first.csv", custom)
		second, other := previewed(t, b, "second.csv", "Name\nDee Diaz\n")
		progress := started(t, b, first, p)
		refused := b.Submit(other, second+"/preview", webtest.Values("act", "start", "row-2", "skip"))
		want(t, refused, http.StatusConflict, "Another import is running. Your choices are kept")
		if webtest.LinkTo(refused, "Show the progress of the other import") != progress || refused.Form(second+"/preview").Get("row-2") != "skip" {
			t.Errorf("it does not lead to %s, or lost the choice", progress)
		}
		want(t, b.Get("/import"), http.StatusOK, "An import is running.", "second.csv")
		want(t, b.Follow(b.Submit(b.Get(progress), "/settings/imports/cancel", nil)), http.StatusOK, "The import stops.", "cancelled")
		started(t, b, second, refused)
		want(t, b.Get("/import/fil_po958dq040/preview"), http.StatusNotFound, "This file no longer exists", "Upload it again")
	})
}

// The page lists the objects that an undo left unchanged, without ids.
func TestConflictsOfAnUndo(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		path, p := previewed(t, b, "people.csv", custom)
		progress := started(t, b, path, p)
		worked(t, s, b, importer.JobKind)
		webtest.Changed(t, s, b.Owner, people.Patch{ID: stored(t, s, b)["Ana Lee"], Bio: new("new")})
		b.Submit(b.Get(progress), "/settings/imports/undo", nil)
		worked(t, s, b, importer.UndoKind)
		for _, at := range []string{progress, "/settings/imports"} {
			want(t, b.Get(at), http.StatusOK, "Undone, but for 1 that stay as they are.", "Ana Lee: it was changed since: bio")
		}
		want(t, b.Get("/settings/imports"), http.StatusOK, "people.csv", "2 people added.")
	})
}

// Files that cannot be imported are refused with an error at the field.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	token := b.Get("/import").Form("/import").Get("form_token")
	for what, c := range map[string]struct {
		page *webtest.Page
		says string
	}{
		"no file":    {upload(t, b, token, "", ""), "Choose a file that is not empty."},
		"empty":      {upload(t, b, token, "a.csv", ""), "Choose a file that is not empty."},
		"blank":      {upload(t, b, token, "a.csv", "\n \n"), "The file is empty."},
		"a PDF":      {upload(t, b, token, "a.pdf", "%PDF-1.7\n%\x01\x02"), "This is a PDF"},
		"no people":  {upload(t, b, token, "a.csv", "Name,E-mail\n"), "no people below it"},
		"no columns": {upload(t, b, token, "a.txt", "just a text\n"), "No row names columns"},
	} {
		want(t, c.page, http.StatusUnprocessableEntity, c.says)
		if input := c.page.ByID("file"); input == nil || webtest.Attr(input, "aria-invalid") != "true" || c.page.ByID("file-error") == nil {
			t.Errorf("%s: not at the field", what)
		}
	}
	if p := upload(t, b, token, "a.csv", strings.Repeat("x", importer.MaxFile+100<<10)); p.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d", p.Status)
	}
	want(t, b.Get("/import"), http.StatusOK, "Choose a file")
	if strings.Contains(b.Get("/import").Text(), "not imported") {
		t.Error("a file that cannot be read was kept")
	}
}

// A table with an unknown header is imported with the columns that the member chooses.
func TestUnknownHeader(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		path := uploaded(t, b, "odd.csv", "Wer;Wohin\nAna Lee;ana@x.example\n")
		columns := b.Get(path)
		want(t, columns, http.StatusOK, "Wer", "Wohin")
		want(t, b.Submit(columns, path, nil), http.StatusUnprocessableEntity, "No column says who the people are")
		p := b.Follow(b.Submit(columns, path, webtest.Values("column-1", "name", "column-2", "email")))
		want(t, p, http.StatusOK, "Ana Lee", "ana@x.example", "New 1")
		started(t, b, path, p)
		worked(t, s, b, importer.JobKind)
		if _, ok := stored(t, s, b)["Ana Lee"]; !ok {
			t.Error("she is not there")
		}
	})
}

// If the member chooses another format, the file is read again, and the choices of columns are
// dropped.
func TestOtherFormat(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	path, _ := previewed(t, b, "people.csv", custom)
	again := b.Follow(b.Submit(b.Get(path), path, webtest.Values("format", "outlook_csv", "act", "next")))
	want(t, again, http.StatusOK, "The file was read again.", "Contacts from Outlook, 2 rows.")
}

// The preview shows 50 rows a page, and the rows of one kind.
func TestPagesOfPreview(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	content := "Name\n"
	for i := range 120 {
		content += fmt.Sprintf("Person %d\n", i)
	}
	path, p := previewed(t, b, "many.csv", content)
	form := path + "/preview"
	want(t, p, http.StatusOK, "Page 1 of 3", "Person 49", "All 120")
	if strings.Contains(p.Text(), "Person 50") || strings.Contains(p.Text(), "Earlier rows") {
		t.Error("more than a page")
	}
	third := b.Follow(b.Submit(p, form, webtest.Values("row-2", "skip", "to", "3")))
	want(t, third, http.StatusOK, "Page 3 of 3", "Person 119", "Earlier rows", "Left out 1", "Import 119 people")
	want(t, b.Follow(b.Submit(third, form, webtest.Values("show", "left_out"))), http.StatusOK, "Person 0", "Left out 1")
	for _, query := range []string{"?page=-1", "?page=x", "?show=x", "?page=999999999999"} {
		want(t, b.Get(form+query), http.StatusOK, "Preview of the import")
	}
}

// Another member cannot see or change a file or an import; forms need their token; text of a file is
// escaped.
func TestOnlyTheMembersOwn(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
		const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
		quoted := `"` + strings.ReplaceAll(evil, `"`, `""`) + `"`
		content := fmt.Sprintf("Name,%s\n%s,%s\nCarl,%s,too,many\n", quoted, quoted, quoted, quoted)
		path, p := previewed(t, b, evil+".csv", content)
		form := path + "/preview"
		token := other.Get("/import").Form("/import").Get("form_token")
		for _, at := range []string{path, form} {
			want(t, other.Get(at), http.StatusNotFound, "This file no longer exists")
			want(t, other.Post(at, webtest.Values("form_token", token, "act", "start", "row-2", "skip", "column-1", "ignore")), http.StatusNotFound, "This file no longer exists")
			want(t, b.Post(at, webtest.Values("form_token", token)), http.StatusForbidden, "out of date")
			if got := s.Browser(t).Get(at); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Header.Get("Location"), "/sign-in") {
				t.Errorf("%s without a session: %d", at, got.Status)
			}
		}
		if got := upload(t, b, "wrong", "a.csv", custom); got.Status != http.StatusForbidden {
			t.Errorf("a wrong token: %d", got.Status)
		}
		pages := []*webtest.Page{b.Get("/import"), b.Get(path), p}
		progress := started(t, b, path, p)
		pages = append(pages, b.Get(progress))
		want(t, other.Post("/settings/imports/cancel", webtest.Values("form_token", token, "number", "1")), http.StatusNotFound)
		worked(t, s, b, importer.JobKind)
		pages = append(pages, b.Get(progress), b.Get("/settings/imports"), b.Get(strings.Replace(progress, "progress", "people", 1)))
		for _, shown := range pages {
			want(t, shown, http.StatusOK)
			if strings.Contains(shown.Body, "<script>alert") || strings.Contains(shown.Body, "<img src=x") {
				t.Errorf("text became markup:\n%s", shown.Body)
			}
		}
		for _, at := range []string{progress, strings.Replace(progress, "progress", "people", 1), "/import/99/progress", "/import/x/people"} {
			want(t, other.Get(at), http.StatusNotFound, "There is nothing here")
		}
		want(t, other.Post("/settings/imports/undo", webtest.Values("form_token", token, "number", "1")), http.StatusNotFound)
		if len(stored(t, s, b)) != 1 || len(stored(t, s, other)) != 0 {
			t.Error("people were changed")
		}
		if got := other.Get("/settings/imports"); strings.Contains(got.Body, "alert(1)") {
			t.Error("the import is shown to another member")
		}
	})
}

// The page of an import shows the first warnings, and how many more there are.
func TestFurtherWarningsAreCounted(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	var file strings.Builder
	file.WriteString("Name,Email,Birthday\n")
	for i := range 80 {
		fmt.Fprintf(&file, "Person %d,p%d@helios.example,the %dth of never\n", i, i, i)
	}
	path, preview := previewed(t, b, "people.csv", file.String())
	progress := started(t, b, path, preview)
	worked(t, s, b, importer.JobKind)
	page := b.Get(progress)
	said := regexp.MustCompile(`And (\d+) more\.`).FindStringSubmatch(page.Text())
	if said == nil || fmt.Sprint(80-strings.Count(page.Text(), "th of never")) != said[1] {
		t.Errorf("%v of 80 warnings are counted:\n%s", said, page.Text())
	}
}

// The preview says what the rows do not show: relations and last contacts of the file, and that the day on
// which a known person was added stays.
func TestPreviewNamesRelationsAndDays(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	path, preview := previewed(t, b, "people.csv", "Name,Email\nAda Stone,ada@helios.example\nBen Stone,ben@helios.example\n")
	if strings.Contains(preview.Text(), "Relations and last contacts") {
		t.Error("a file without relations has some")
	}
	started(t, b, path, preview)
	worked(t, s, b, importer.JobKind)
	for _, c := range []struct{ header, value, words string }{
		{"Manager", "Ben Stone", "Relations and last contacts in the file are imported too"},
		{"Last contact", "2024-03-04", "Relations and last contacts in the file are imported too"},
		{"Added", "2020-01-02", "The day on which the person was added stays"},
	} {
		_, preview := previewed(t, b, "again.csv", "Name,Email,"+c.header+"\nAda Stone,ada@helios.example,"+c.value+"\n")
		if !strings.Contains(preview.Text(), c.words) {
			t.Errorf("%s: no %q in:\n%s", c.header, c.words, preview.Text())
		}
	}
}
