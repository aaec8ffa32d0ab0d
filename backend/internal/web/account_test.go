package web_test

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// keepPerson stores a person of the member, as an agent would.
func keepPerson(t *testing.T, s *webtest.Site, owner tenant.ID, name string) {
	t.Helper()
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialName: "Claude", Tool: "create_connection"},
		func(ctx context.Context, u *db.Tx) error {
			_, err := people.Create(ctx, u, people.Draft{Name: name})
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
}

// keepMany stores n people of the member, each at least 300 bytes even when compressed.
func keepMany(t *testing.T, s *webtest.Site, owner tenant.ID, n int) {
	t.Helper()
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		for i := range n {
			var bio strings.Builder
			for range 20 {
				bio.WriteString(rand.Text())
			}
			if _, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprintf("Person %d", i), Bio: bio.String()}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeleteAccount(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		second := s.BrowserOf(t, b.Owner)
		access := grantOf(t, s, b)
		made := makeToken(t, b, webtest.Values("name", "x"))
		bearer := webtest.TextOf(made.ByID("made-token"))
		page := b.Get("/settings/account")
		want(t, page, http.StatusOK, "Download your data", "Delete your account", "type maria")
		for name, change := range map[string]map[string][]string{
			"another username": webtest.Values("username", "mario", "password", webtest.Password),
			"no username":      webtest.Values("username", "", "password", webtest.Password),
			"a wrong password": webtest.Values("username", "maria", "password", "wrong"),
			"no password":      webtest.Values("username", "maria", "password", ""),
		} {
			if p := b.Submit(page, "/settings/account/delete", change); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Text(), "This is not your") {
				t.Errorf("%s: %d", name, p.Status)
			}
		}
		want(t, b.Submit(page, "/settings/account/delete", webtest.Values("username", "maria", "password", webtest.Password)), http.StatusOK, "Your account is deleted")
		if isSignedIn(b) || isSignedIn(second) || b.Cookie("kith_session") != "" {
			t.Error("a session still works")
		}
		for _, dead := range []string{access, bearer} {
			if _, err := oauth.Authenticate(t.Context(), s.Store, dead); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("a token still works: %v", err)
			}
		}
		if _, err := account.FindMember(t.Context(), s.Store, "maria"); !fault.Is(err, fault.NotFound) {
			t.Errorf("the member still exists: %v", err)
		}
		want(t, signIn(b, "maria", webtest.Password, ""), http.StatusForbidden)
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		keepPerson(t, s, s.Member(t, "other"), "Not Marias")
		grantOf(t, s, b)
		b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "script"))
		err := s.Store.Tenant(b.Owner, false).Write(t.Context(), db.Actor{CredentialName: "Claude", Tool: "add_note"}, func(ctx context.Context, u *db.Tx) error {
			made, err := people.Create(ctx, u, people.Draft{Name: "Grace Hopper", Organization: "Navy", Emails: []string{"g@navy.example"}, Tags: []string{"Hero"},
				Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "--12-09"}}})
			if err != nil {
				return err
			}
			if err := arrange(ctx, u, made.Connection.ID); err != nil {
				return err
			}
			people := []string{made.Connection.ID}
			if _, _, err = timeline.AddNote(ctx, u, timeline.Note{Body: "Wrote a compiler", ConnectionIDs: people}); err != nil {
				return err
			}
			_, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", Summary: "About bugs", OccurredAt: s.Clock.Now(), ConnectionIDs: people})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p := b.Get("/settings/account/export")
		day := s.Clock.Now().Format(time.DateOnly)
		if p.Status != http.StatusOK || p.Header.Get("Content-Disposition") != `attachment; filename="kith-export-maria-`+day+`.zip"` ||
			p.Header.Get("Content-Type") != "application/zip" {
			t.Errorf("%d %v", p.Status, p.Header)
		}
		files := unzip(t, p.Body)
		checkExport(t, files["account.json"])
		for name, holds := range map[string]string{
			"README.txt": "for maria, " + day, "account.json": `"Grace Hopper"`, "contacts.json": `"body": "Wrote a compiler"`, "contacts.csv": ",Grace Hopper,",
			"contacts.vcf": "FN:Grace Hopper", "contacts.jscontact.json": `"full": "Grace Hopper"`,
		} {
			if !strings.Contains(files[name], holds) || strings.Contains(files[name], "Not Marias") {
				t.Errorf("%s:\n%s", name, files[name])
			}
		}
		if len(files) != 6 {
			t.Errorf("%d files", len(files))
		}
		wantRedirect(t, s.Browser(t).Get("/settings/account/export"), "/sign-in?return_to=%2Fsettings%2Faccount%2Fexport")
	})
}

// unzip returns the files of a ZIP, by name.
func unzip(t *testing.T, body string) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range archive.File {
		content, err := fs.ReadFile(archive, entry.Name)
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name] = string(content)
	}
	return files
}

// arrange adds a group and a reminder to a person.
func arrange(ctx context.Context, u *db.Tx, id string) error {
	if _, err := groups.Save(ctx, u, groups.Patch{Name: new("Crew")}); err != nil {
		return err
	}
	if _, err := groups.UpdateMembership(ctx, u, groups.MembershipPatch{ConnectionIDs: []string{id}, AddGroups: []string{"Crew"}}); err != nil {
		return err
	}
	_, _, err := reminders.Create(ctx, u, reminders.Reminder{Text: "Write back", DueOn: u.Now().Format(time.DateOnly), ConnectionIDs: []string{id}}, u.Now())
	return err
}

func checkExport(t *testing.T, body string) {
	t.Helper()
	type named struct {
		Name, Body, Summary string
		ClientName          string `json:"client_name"`
		Scopes              []string
		Handles             []struct{ Kind, Value string }
		Positions           []struct{ Organization string }
		Tags, Groups        []string
		Dates               []struct{ Kind, Date string } `json:"important_dates"`
		Text                string
		Effects             []struct{ After map[string]any }
		People              []string `json:"connection_ids"`
	}
	var file struct {
		Format                                                           string
		Member                                                           struct{ Username, Email string }
		Profile                                                          struct{ Visibility string }
		Agents, Connections, Organizations, Notes, Interactions, Changes []named
		Groups, Reminders, Relationships                                 []named
		Tokens                                                           []named `json:"personal_tokens"`
		Complete                                                         bool
	}
	if err := json.Unmarshal([]byte(body), &file); err != nil {
		t.Fatalf("%v:\n%s", err, body)
	}
	if file.Format != "kith-export-1" || file.Member.Username != "maria" || file.Member.Email != "maria@people.example" || file.Profile.Visibility != "private" || !file.Complete {
		t.Errorf("head: %s", body)
	}
	if len(file.Agents) != 1 || file.Agents[0].ClientName != "Agent Smith" || len(file.Tokens) != 1 || file.Tokens[0].Name != "script" || len(file.Tokens[0].Scopes) != 8 {
		t.Errorf("agents and tokens: %s", body)
	}
	if len(file.Connections) != 1 || file.Connections[0].Name != "Grace Hopper" || file.Connections[0].Handles[0].Value != "g@navy.example" ||
		file.Connections[0].Positions[0].Organization != "Navy" || file.Connections[0].Tags[0] != "Hero" {
		t.Errorf("connections: %s", body)
	}
	if len(file.Organizations) != 1 || len(file.Notes) != 1 || file.Notes[0].Body != "Wrote a compiler" || len(file.Notes[0].People) != 1 ||
		len(file.Interactions) != 1 || file.Interactions[0].Summary != "About bugs" || len(file.Interactions[0].People) != 1 ||
		len(file.Changes) != 6 || file.Changes[5].Effects[0].After["name"] != "Grace Hopper" ||
		len(file.Groups) != 1 || file.Connections[0].Groups[0] != "Crew" || file.Connections[0].Dates[0].Date != "--12-09" ||
		len(file.Reminders) != 1 || file.Reminders[0].Text != "Write back" || file.Relationships == nil {
		t.Errorf("lists: %s", body)
	}
	for _, secret := range []string{"argon2", "kith_pat_", "hash"} {
		if strings.Contains(body, secret) {
			t.Errorf("it contains %q", secret)
		}
	}
}

func TestExportOfAnEmptyAccount(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	var file map[string]any
	account := unzip(t, s.SignedIn(t, "maria").Get("/settings/account/export").Body)["account.json"]
	if err := json.Unmarshal([]byte(account), &file); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"agents", "personal_tokens", "connections", "organizations", "notes", "interactions", "changes"} {
		if got, ok := file[list].([]any); !ok || len(got) != 0 {
			t.Errorf("%s: %v", list, file[list])
		}
	}
	if file["complete"] != true {
		t.Error("it is not complete")
	}
}

// An export that fails never looks complete: the response is an error page if nothing was sent yet,
// otherwise the connection is closed before the end.
func TestExportBreaksOff(t *testing.T) {
	t.Parallel()
	down := fault.Wrap(errors.New("secret-host refused"), fault.Unavailable, "the store cannot be reached")
	for name, c := range map[string]struct {
		people int
		table  string // the table that cannot be read
		page   bool
	}{"at once": {0, "connections", true}, "early": {3, "relationships", true}, "late": {300, "relationships", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var breaker dbtest.Breaker
			s := webtest.New(t, webtest.Options{Breaker: &breaker})
			b := s.SignedIn(t, "maria")
			keepMany(t, s, b.Owner, c.people)
			breaker.Set(func(statement string) error {
				if strings.Contains(statement, `FROM "`+c.table+`" WHERE tenant_id`) {
					return down
				}
				return nil
			})
			p, err := b.Try(b.Request(http.MethodGet, "/settings/account/export", nil))
			if !c.page {
				if err == nil {
					t.Errorf("%d, %d bytes that look complete", p.Status, len(p.Body))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantOutage(t, name, p)
			if p.Header.Get("Content-Disposition") != "" {
				t.Error("the page would be saved as a file")
			}
		})
	}
}

// The page for deleting the account first offers an export.
func TestExportComesBeforeDeletion(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/account")
	export, deletion := strings.Index(page.Body, `href="/settings/account/export"`), strings.Index(page.Body, `action="/settings/account/delete"`)
	if export < 0 || deletion < export || !strings.Contains(page.Text(), "Download your data first.") {
		t.Error(page.Text())
	}
	want(t, b.Get("/settings/account/export"), http.StatusOK)
	want(t, b.Submit(page, "/settings/account/delete", webtest.Values("username", "maria", "password", webtest.Password)), http.StatusOK)
	wantRedirect(t, b.Get("/settings/account/export"), "/sign-in?return_to=%2Fsettings%2Faccount%2Fexport")
}
