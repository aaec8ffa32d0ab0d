package review_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	approveForm = "/decide/approve"
	refuseForm  = "/decide/refuse"
)

// asked stores a question of Claude about a change that is rolled back: to archive a person.
func asked(t *testing.T, s *webtest.Site, owner tenant.ID, personID string) *decision.Decision {
	t.Helper()
	var change *history.Change
	webtest.By(t, s, owner, "archive_connections", func(ctx context.Context, tx *db.Tx) (int, error) {
		return 0, tx.Attempt(ctx, func(ctx context.Context) (bool, error) {
			done, err := people.Archive(ctx, tx, []string{personID}, true, false)
			if err == nil {
				change, err = history.GetChange(ctx, tx, done.ChangeID)
			}
			return false, err
		})
	})
	return webtest.By(t, s, owner, "archive_connections", func(ctx context.Context, tx *db.Tx) (*decision.Decision, error) {
		d, _, err := decision.Ask(ctx, tx, decision.Call{
			Fingerprint: personID, Arguments: `{"ids":["` + personID + `"]}`, Kinds: "delete bulk",
			Preview: decision.Preview{Summary: strings.Replace(change.Summary, "Archived", "archive", 1), Effects: change.Effects, People: 12, Price: 2, More: 11},
		})
		return d, err
	})
}

func stateOf(t *testing.T, s *webtest.Site, owner tenant.ID, id string) (d *decision.Decision, j *job.Job) {
	t.Helper()
	data := s.Store.Tenant(owner, true)
	d, err := decision.Get(t.Context(), data, id)
	if err == nil {
		j, err = job.GetJob(t.Context(), data, d.TaskID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, j
}

// The page says who asks what, in words; its buttons decide, and the job is due then.
func TestDecide(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		want(t, b.Get("/decide"), http.StatusOK, "Nothing to decide", "Choose for each agent")
		if strings.Contains(b.Get("/").Text(), "for you") {
			t.Error("Today tells of a question")
		}
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		first := asked(t, s, b.Owner, grace)
		page := b.Get("/decide")
		want(t, page, http.StatusOK, "Claude wants to archive Grace Hopper", "· Archive people", "Person Grace Hopper: would be archived", "And 11 more.",
			"You asked to approve deletions and changes of many people, here 12.", "It costs 2 credits if you approve it.", "Without an answer it expires on")
		if strings.Contains(page.Text(), grace) {
			t.Error("an id is shown")
		}
		want(t, b.Get("/"), http.StatusOK, "Claude wants to archive Grace Hopper")
		if webtest.LinkTo(b.Get("/activity"), "Decisions") != "/decide" {
			t.Error("Activity does not lead there")
		}

		wantRedirect(t, b.Submit(page, approveForm, nil), "/decide?done=approved")
		if d, j := stateOf(t, s, b.Owner, first.ID); d.State != decision.Approved || j.RunAt.After(s.Clock.Now()) || j.State != job.Queued {
			t.Errorf("%+v, %+v", d, j)
		}
		want(t, b.Get("/decide?done=approved"), http.StatusOK, "Approved. The result is below", "Nothing to decide", "Archive people", "Approved, and not done yet · Claude")
		for _, form := range []string{approveForm, refuseForm} {
			wantRedirect(t, b.Submit(page, form, nil), "/decide?done=decide-late")
		}

		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		second := asked(t, s, b.Owner, ada)
		wantRedirect(t, b.Submit(b.Get("/decide"), refuseForm, nil), "/decide?done=refused")
		d, j := stateOf(t, s, b.Owner, second.ID)
		if d.State != decision.Refused || d.Arguments != "" || d.Preview.Summary != "" || j.RunAt.After(s.Clock.Now()) {
			t.Errorf("%+v, %+v", d, j)
		}
		last := b.Get("/decide?done=decide-late")
		want(t, last, http.StatusOK, "it was decided already, or has expired", "Refused · Claude")
		if strings.Contains(last.Text(), "Ada") {
			t.Error("what was refused is still kept")
		}
	})
}

// Many clicks at once: exactly one decides.
func TestDecideOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		d := asked(t, s, b.Owner, grace)
		page := b.Get("/decide")
		var mu sync.Mutex
		told := map[string]int{}
		var all sync.WaitGroup
		for i := range 12 {
			form := []string{approveForm, refuseForm}[i%2]
			all.Go(func() {
				p, err := b.Try(b.Request(http.MethodPost, form, page.Form(form)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				told[p.Header.Get("Location")]++
			})
		}
		all.Wait()
		now, _ := stateOf(t, s, b.Owner, d.ID)
		if told["/decide?done=decide-late"] != 11 || told["/decide?done="+now.State] != 1 {
			t.Errorf("%s: %v", now.State, told)
		}
	})
}

// Another member's question cannot be seen or decided, and no question without the form of the
// page.
func TestDecideNeedsTheFormOfThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		theirs := asked(t, s, b.Owner, grace)
		ada, _ := webtest.Added(t, s, other.Owner, "Ada Lovelace")
		asked(t, s, other.Owner, ada)
		own := other.Get("/decide")
		if strings.Contains(own.Body, theirs.ID) || strings.Contains(own.Text(), "Grace") {
			t.Error("another member's question is shown")
		}
		for _, form := range []string{approveForm, refuseForm} {
			for name, id := range map[string]string{"another member's": theirs.ID, "none": "dec_il016xf915", "a word": "x", "nothing": "", "broken": broken} {
				p := other.Post(form, webtest.Values("form_token", own.Form(form).Get("form_token"), "decision", id))
				if want(t, p, http.StatusNotFound, "There is nothing here"); webtest.LinkTo(p, "Back to Decide") != "/decide" {
					t.Errorf("%s: no way back", name)
				}
			}
			want(t, b.Post(form, webtest.Values("decision", theirs.ID)), http.StatusForbidden, "out of date")
			want(t, b.Post(form, webtest.Values("decision", theirs.ID, "form_token", own.Form(form).Get("form_token"))), http.StatusForbidden, "out of date")
			if p := s.Browser(t).Post(form, b.Get("/decide").Form(form)); p.Status == http.StatusSeeOther && strings.Contains(p.Header.Get("Location"), "done=") {
				t.Error("it was decided signed out")
			}
		}
		if d, _ := stateOf(t, s, b.Owner, theirs.ID); d.State != decision.Waiting {
			t.Errorf("it is %s", d.State)
		}
	})
}

// Text of members and agents is shown literally.
func TestScriptsInQuestions(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	id, _ := webtest.Added(t, s, b.Owner, attack)
	asked(t, s, b.Owner, id)
	p := b.Get("/decide")
	want(t, p, http.StatusOK, attack)
	if strings.Contains(webtest.OwnScript.ReplaceAllString(p.Body, ""), "<script") || strings.Contains(p.Body, "<img src=x") {
		t.Error("the page contains markup from a member")
	}
}

// An expired question is listed as that, and its form says that it is too late.
func TestDecideTooLate(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
	asked(t, s, b.Owner, grace)
	s.Clock.Advance(decision.Lifetime - time.Minute)
	page := b.Get("/decide")
	s.Clock.Advance(time.Minute)
	wantRedirect(t, b.Submit(page, approveForm, nil), "/decide?done=decide-late")
	want(t, b.Get("/decide"), http.StatusOK, "Nothing to decide", "Expired, and not done · Claude")
}

// The page shows what an import would do with the rows of its file.
func TestDecideAboutAnImport(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada <Lovelace>")
		webtest.By(t, s, b.Owner, "import_file", func(ctx context.Context, tx *db.Tx) (*decision.Decision, error) {
			shown := `{"total":4,"created":2,"updated":1,"failed":1,"errors":[{"row":5,"message":"there is no name"}],"partly":true,"columns":[{"name":"Surname","field":"name","stored":3}],"rows":[
{"row":2,"action":"update","name":"A. Lovelace","match":{"id":"` + ada + `","name":"Ada <Lovelace>","headline":"Countess","why":"same e-mail address"}},
{"row":3,"action":"add","name":"Bo","may_be":[{"of_row":2,"name":"A. Lovelace","why":"same phone number"}]},{"row":4,"action":"add","name":"Cy"}]}`
			d, _, err := decision.Ask(ctx, tx, decision.Call{Fingerprint: "f", Arguments: `{}`, Kinds: "import", Preview: decision.Preview{Summary: "import friends.csv", Import: []byte(shown)}})
			return d, err
		})
		page := b.Get("/decide")
		want(t, page, http.StatusOK, "wants to import friends.csv",
			"Of the first 4 rows, 2 would be added, 1 would change people who exist, 0 would change nothing, and 1 cannot be imported.",
			"A. Lovelace: would change the person", "Row 2 · Is Ada <Lovelace>, Countess: same e-mail address", "Bo: would be added",
			"Row 3 · May be A. Lovelace in row 2: same phone number", "Row 5: there is no name", "Surname")
		if got := webtest.LinkTo(page, "Ada <Lovelace>, Countess"); got != "/people/"+ada {
			t.Errorf("it leads to %q", got)
		}
	})
}
