package review_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The forms of the bin.
const (
	binRestore = "/people/bin/restore"
	binDelete  = "/people/bin/delete"
)

func binDeletePath(changeID string) string {
	return binDelete + "?" + url.Values{"change": {changeID}}.Encode()
}

// inBin returns the deletions that a member's page offers to restore, in the page's
// order.
func inBin(b *webtest.Browser) []string {
	var ids []string
	for _, form := range b.Get("/people/bin").Forms(binRestore) {
		ids = append(ids, form.Get("change"))
	}
	return ids
}

// The page says who was deleted, by whom, when, and how long it can be restored; each
// deletion can be restored or made permanent, and the bin emptied.
func TestBin(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		want(t, b.Get("/people/bin"), http.StatusOK, "The bin is empty.")
		wantRedirect(t, b.Get(binDelete), "/people/bin")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		mary, _ := webtest.Added(t, s, b.Owner, "Mary Somerville")
		webtest.Noted(t, s, b.Owner, grace, "compilers")
		ofGrace := webtest.Deleted(t, s, b.Owner, grace)
		want(t, b.Get("/people/"+grace), http.StatusOK, "Grace Hopper is in the bin")
		for _, path := range []string{"/people", "/people?q=grace", "/people?archived=with"} {
			if p := b.Get(path); strings.Contains(p.Body, "Hopper") {
				t.Errorf("%s shows her: %s", path, p.Text())
			}
		}
		page := b.Get("/people/bin")
		want(t, page, http.StatusOK, "Deleted Grace Hopper", "By Claude", "Delete a person", "30 days left")
		s.Clock.Advance(29*24*time.Hour + time.Minute)
		b = s.BrowserOf(t, b.Owner)
		want(t, b.Get("/people/bin"), http.StatusOK, "Deleted Grace Hopper", "1 day left")
		wantRedirect(t, b.Submit(b.Get("/people/bin"), binRestore, nil), "/people/bin?done=restored")
		want(t, b.Get("/people/bin?done=restored"), http.StatusOK, "The person is restored", "The bin is empty.")
		if c := webtest.FindPerson(t, s, b.Owner, grace); c == nil || c.Name != "Grace Hopper" {
			t.Errorf("restored: %+v", c)
		}
		if undo := webtest.Changes(t, s, b.Owner)[0]; undo.Undoes != ofGrace || undo.Tool != "people/bin" {
			t.Errorf("recorded: %+v", undo)
		}

		ofAda, ofMary := webtest.Deleted(t, s, b.Owner, ada), webtest.Deleted(t, s, b.Owner, mary)
		confirm := b.Get(binDeletePath(ofAda))
		want(t, confirm, http.StatusOK, "Delete for good?", "Deleted Ada Lovelace", "Nobody can restore them")
		if got := inBin(b); len(got) != 2 {
			t.Errorf("showing the page deletes: %v", got)
		}
		wantRedirect(t, b.Submit(confirm, binDelete, nil), "/people/bin?done=bin-deleted")
		wantRedirect(t, b.Submit(confirm, binDelete, nil), "/people/bin?done=bin-nothing")
		wantRedirect(t, b.Get(binDeletePath(ofAda)), "/people/bin")
		if got := inBin(b); len(got) != 1 || got[0] != ofMary {
			t.Errorf("left: %v", got)
		}
		empty := b.Get(binDelete)
		want(t, empty, http.StatusOK, "Empty the bin?", "Everyone in the bin will be gone")
		later := webtest.Deleted(t, s, b.Owner, grace) // by an agent, while the member reads
		wantRedirect(t, b.Submit(empty, binDelete, nil), "/people/bin?done=bin-emptied")
		if got := inBin(b); len(got) != 1 || got[0] != later {
			t.Errorf("after emptying the bin: %v", got)
		}
	})
}

// If a conflict prevents a restore, the page says what it is and links to the change to
// undo.
func TestRestoreInTheWay(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		webtest.By(t, s, b.Owner, "link_connections", func(ctx context.Context, u *db.Tx) (string, error) {
			_, changeID, err := people.Link(ctx, u, grace, ada, people.RelationFriend, false)
			return changeID, err
		})
		ofGrace := webtest.Deleted(t, s, b.Owner, grace)
		webtest.Deleted(t, s, b.Owner, ada)
		form := b.Get("/people/bin").Forms(binRestore)[1]
		if form.Get("change") != ofGrace {
			t.Fatalf("%v", form)
		}
		want(t, b.Post(binRestore, form), http.StatusConflict, "This cannot be undone yet", "Nothing was undone")
		if webtest.FindPerson(t, s, b.Owner, grace) != nil || len(inBin(b)) != 2 {
			t.Error("something was restored")
		}
	})
}

// Many deletions are on several pages.
func TestPagesOfTheBin(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for n := range 55 {
		id, _ := webtest.Added(t, s, b.Owner, fmt.Sprintf("Person %d", n))
		webtest.Deleted(t, s, b.Owner, id)
	}
	first := b.Get("/people/bin")
	second := b.Get(webtest.LinkTo(first, "Older"))
	if len(first.Forms(binRestore)) != 50 || len(second.Forms(binRestore)) != 5 || webtest.LinkTo(second, "Latest") != "/people/bin" {
		t.Errorf("%d and %d", len(first.Forms(binRestore)), len(second.Forms(binRestore)))
	}
	want(t, b.Get("/people/bin?cursor=x"), http.StatusBadRequest, "This link is broken")
}

// A deletion of another member, and a change that is not a deletion, can be neither
// seen, restored nor made permanent; the response is the same as for one that does not
// exist.
func TestAnotherMembersBin(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		grace, addition := webtest.Added(t, s, victim.Owner, "Grace Hopper")
		theirs := webtest.Deleted(t, s, victim.Owner, grace)
		mine, own := webtest.Added(t, s, attacker.Owner, "Somebody Else")
		deleted := webtest.Deleted(t, s, attacker.Owner, mine)
		token := attacker.Get(binDelete).Form(binDelete).Get("form_token")
		var seen []string
		for _, changeID := range map[string]string{
			"another member's": theirs, "another member's change": addition, "one's own that is no deletion": own,
			"an unknown id": "chg_hd691gu278", "lower case": strings.ToUpper(theirs), "a word": "x", "nothing": "", "invalid text": broken, "a pattern": "chg_%",
		} {
			for _, p := range []*webtest.Page{
				attacker.Get(binDeletePath(changeID)),
				attacker.Post(binDelete, webtest.Values("form_token", token, "change", changeID)),
				attacker.Post(binRestore, webtest.Values("form_token", token, "change", changeID)),
			} {
				want(t, p, http.StatusNotFound, "There is nothing here")
				seen = append(seen, p.Text())
			}
		}
		for _, text := range seen {
			if text != seen[0] || strings.Contains(text, "Grace") {
				t.Errorf("the responses differ: %q", text)
			}
		}
		for _, last := range []string{"x", broken, "chg_%", strings.ToUpper(theirs)} {
			want(t, attacker.Post(binDelete, webtest.Values("form_token", token, "last", last)), http.StatusNotFound, "There is nothing here")
		}
		for _, last := range []string{theirs, "chg_vg867kp010"} {
			wantRedirect(t, attacker.Post(binDelete, webtest.Values("form_token", token, "last", last)), "/people/bin?done=bin-emptied")
			if len(inBin(attacker)) != 1 {
				t.Errorf("%s emptied the bin", last)
			}
		}
		wantRedirect(t, attacker.Post(binDelete, webtest.Values("form_token", token, "last", deleted)), "/people/bin?done=bin-emptied")
		if got := inBin(victim); len(got) != 1 || got[0] != theirs || len(inBin(attacker)) != 0 {
			t.Errorf("the victim's bin: %v", got)
		}
	})
}

// Another site, a form from another browser and a link to an address neither restore
// nor permanently delete anything.
func TestBinNeedsItsForms(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
	deletion := webtest.Deleted(t, s, b.Owner, grace)
	token := b.Get("/people/bin").Form(binRestore).Get("form_token")
	strange := tokenOf(other.Get("/settings/profile"))
	for _, path := range []string{binRestore, binDelete} {
		for _, fields := range [][]string{{"change", deletion}, {"last", deletion}} {
			form := webtest.Values(append(fields, "form_token", token)...)
			crossSite := b.Request(http.MethodPost, path, form)
			crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
			crossSite.Header.Set("Origin", "https://evil.example")
			for name, p := range map[string]*webtest.Page{
				"without its token":         b.Post(path, webtest.Values(fields...)),
				"with another's token":      b.Post(path, webtest.Values(append(fields, "form_token", strange)...)),
				"in the address":            b.Post(path+"?"+form.Encode(), webtest.Values("x", "y")),
				"from another site":         b.Do(crossSite),
				"from a signed-out browser": s.Browser(t).Post(path, form),
				"by another member":         other.Post(path, form),
				"by GET, with the token":    b.Get(path + "?" + form.Encode()),
			} {
				if strings.Contains(p.Header.Get("Location"), "done=") {
					t.Errorf("%s %s: %s", name, path, p.Header.Get("Location"))
				}
			}
		}
	}
	wantRedirect(t, s.Browser(t).Get("/people/bin"), "/sign-in?return_to=%2Fpeople%2Fbin")
	if got := inBin(b); len(got) != 1 || webtest.FindPerson(t, s, b.Owner, grace) != nil {
		t.Errorf("something was done: %v", got)
	}
	wantRedirect(t, b.Submit(b.Get("/people/bin"), binRestore, nil), "/people/bin?done=restored")
}

// Ten clicks at once, half to restore and half to delete permanently: exactly one takes effect.
func TestRestoreAndDeleteForGoodAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		deletion := webtest.Deleted(t, s, b.Owner, grace)
		form := webtest.Values("change", deletion, "form_token", b.Get("/people/bin").Form(binRestore).Get("form_token"))
		told := map[string]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				p, err := b.Try(b.Request(http.MethodPost, []string{binRestore, binDelete}[n%2], form))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				told[fmt.Sprint(p.Status, p.Header.Get("Location"))]++
			})
		}
		all.Wait()
		restored, ended := told["303/people/bin?done=restored"], told["303/people/bin?done=bin-deleted"]
		c := webtest.FindPerson(t, s, b.Owner, grace)
		if restored+ended != 1 || (c != nil) != (restored == 1) || len(inBin(b)) != 0 {
			t.Errorf("%v; %+v", told, c)
		}
	})
}
