package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// ended queues and ends a job of a member, and returns its id.
func ended(t *testing.T, s *webtest.Site, owner tenant.ID, kind, state string) (id string) {
	t.Helper()
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		j, _, err := job.StartJob(ctx, u, job.Draft{Kind: kind, Params: export.File{Format: export.CSV}})
		id = j.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	queue := dbtest.Queue(t, s.Store)
	j, err := queue.ClaimJob(t.Context(), []string{kind}, s.Clock.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := queue.EndJob(t.Context(), job.Lease{ID: j.ID, Tenant: owner, Fence: j.Fence}, job.End{State: state}); err != nil {
		t.Fatal(err)
	}
	return id
}

// A file goes to the member's browser and to bearers that may export, for an hour.
func TestExportFile(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, stranger := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		keepPerson(t, s, b.Owner, "Grace Hopper")
		keepPerson(t, s, stranger.Owner, "Not Marias")
		file := export.PathFiles + ended(t, s, b.Owner, export.JobKind, job.Succeeded)
		got := b.Get(file)
		if got.Status != http.StatusOK || !strings.Contains(got.Body, "Grace Hopper") || strings.Contains(got.Body, "Not Marias") ||
			got.Header.Get("Content-Type") != "text/csv; charset=utf-8" || got.Header.Get("Cache-Control") != "no-store" ||
			got.Header.Get("Content-Disposition") != `attachment; filename="kith-people-`+s.Clock.Now().Format(time.DateOnly)+`.csv"` {
			t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
		want(t, stranger.Get(file), http.StatusNotFound)
		wantRedirect(t, s.Browser(t).Get(file), "/sign-in?return_to="+strings.ReplaceAll(file, "/", "%2F"))
		for name, id := range map[string]string{
			"no job": "job_00000000000000000000000000", "a number": "1", "another kind": ended(t, s, b.Owner, "file_import", job.Succeeded),
			"a failed job": ended(t, s, b.Owner, export.JobKind, job.Failed),
		} {
			if got := b.Get(export.PathFiles + id); got.Status != http.StatusNotFound {
				t.Errorf("%s: %d", name, got.Status)
			}
		}
		for name, c := range map[string]struct {
			header []string
			status int
		}{
			"the member's token":   {[]string{"Bearer " + dbtest.Token(t, s.Store, b.Owner, "connections")}, http.StatusOK},
			"a token of another":   {[]string{"Bearer " + dbtest.Token(t, s.Store, stranger.Owner, "connections")}, http.StatusNotFound},
			"a token out of scope": {[]string{"Bearer " + dbtest.Token(t, s.Store, b.Owner, "timeline", "write")}, http.StatusForbidden},
			"an unknown token":     {[]string{"Bearer kith_pat_unknown"}, http.StatusUnauthorized},
			"another scheme":       {[]string{"Basic bWFyaWE6eA=="}, http.StatusUnauthorized},
			"two tokens":           {[]string{"Bearer a", "Bearer b"}, http.StatusUnauthorized},
		} {
			r := s.Browser(t).Request(http.MethodGet, file, nil)
			r.Header["Authorization"] = c.header
			got := b.Do(r)
			if got.Status != c.status || (c.status == http.StatusUnauthorized) != (got.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: %d %v", name, got.Status, got.Header)
			}
		}
		s.Clock.Advance(export.FileLifetime - time.Second)
		b = s.BrowserOf(t, b.Owner) // who has just signed in
		want(t, b.Get(file), http.StatusOK)
		s.Clock.Advance(time.Second)
		want(t, b.Get(file), http.StatusNotFound)
	})
}
