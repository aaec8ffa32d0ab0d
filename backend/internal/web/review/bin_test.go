package web_test

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
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The forms of the bin.
const (
	binRestore = "/settings/bin/restore"
	binDelete  = "/settings/bin/delete"
)

func binDeletePath(changeID string) string {
	return binDelete + "?" + url.Values{"change": {changeID}}.Encode()
}

// deleted deletes a person, as an agent, and returns the change.
func deleted(t *testing.T, s *webtest.Site, owner tenant.ID, id string) string {
	t.Helper()
	return by(t, s, owner, "delete_connection", func(ctx context.Context, u *db.Tx) (people.Deleted, error) {
		c, err := people.GetConnection(ctx, u, id)
		if err != nil {
			return people.Deleted{}, err
		}
		return people.Delete(ctx, u, kinds.All(), id, c.Name)
	}).ChangeID
}

// inBin returns the deletions that a member's page offers to restore, in the page's
// order.
func inBin(b *webtest.Browser) []string {
	var ids []string
	for _, form := range b.Get("/settings/bin").Forms(binRestore) {
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
		want(t, b.Get("/settings/bin"), http.StatusOK, "The bin is empty.")
		wantRedirect(t, b.Get(binDelete), "/settings/bin")
		grace, _ := added(t, s, b.Owner, "Grace Hopper")
		ada, _ := added(t, s, b.Owner, "Ada Lovelace")
		mary, _ := added(t, s, b.Owner, "Mary Somerville")
		noted(t, s, b.Owner, grace, "compilers")
		ofGrace := deleted(t, s, b.Owner, grace)
		page := b.Get("/settings/bin")
		want(t, page, http.StatusOK, "Deleted Grace Hopper", "By Claude", "Delete a person", "30 days left")
		if linkTo(page, "Bin") != "/settings/bin" {
			t.Error("the navigation does not link to the bin")
		}
		s.Clock.Advance(29*24*time.Hour + time.Minute)
		b = s.BrowserOf(t, b.Owner)
		want(t, b.Get("/settings/bin"), http.StatusOK, "Deleted Grace Hopper", "1 day left")
		wantRedirect(t, b.Submit(b.Get("/settings/bin"), binRestore, nil), "/settings/bin?done=restored")
		want(t, b.Get("/settings/bin?done=restored"), http.StatusOK, "The person is restored", "The bin is empty.")
		if c := findPerson(t, s, b.Owner, grace); c == nil || c.Name != "Grace Hopper" {
			t.Errorf("restored: %+v", c)
		}
		if undo := list(t, s, b.Owner)[0]; undo.Undoes != ofGrace || undo.Tool != "settings/bin" {
			t.Errorf("recorded: %+v", undo)
		}

		ofAda, ofMary := deleted(t, s, b.Owner, ada), deleted(t, s, b.Owner, mary)
		confirm := b.Get(binDeletePath(ofAda))
		want(t, confirm, http.StatusOK, "Delete for good?", "Deleted Ada Lovelace", "Nobody can restore them")
		if got := inBin(b); len(got) != 2 {
			t.Errorf("showing the page deletes: %v", got)
		}
		wantRedirect(t, b.Submit(confirm, binDelete, nil), "/settings/bin?done=bin-deleted")
		wantRedirect(t, b.Submit(confirm, binDelete, nil), "/settings/bin?done=bin-nothing")
		wantRedirect(t, b.Get(binDeletePath(ofAda)), "/settings/bin")
		if got := inBin(b); len(got) != 1 || got[0] != ofMary {
			t.Errorf("left: %v", got)
		}
		empty := b.Get(binDelete)
		want(t, empty, http.StatusOK, "Empty the bin?", "Everyone in the bin will be gone")
		later := deleted(t, s, b.Owner, grace) // by an agent, while the member reads
		wantRedirect(t, b.Submit(empty, binDelete, nil), "/settings/bin?done=bin-emptied")
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
		grace, _ := added(t, s, b.Owner, "Grace Hopper")
		ada, _ := added(t, s, b.Owner, "Ada Lovelace")
		by(t, s, b.Owner, "link_connections", func(ctx context.Context, u *db.Tx) (string, error) {
			_, changeID, err := people.Link(ctx, u, grace, ada, people.RelationFriend, false)
			return changeID, err
		})
		ofGrace := deleted(t, s, b.Owner, grace)
		deleted(t, s, b.Owner, ada)
		form := b.Get("/settings/bin").Forms(binRestore)[1]
		if form.Get("change") != ofGrace {
			t.Fatalf("%v", form)
		}
		want(t, b.Post(binRestore, form), http.StatusConflict, "This cannot be undone yet", "Nothing was undone")
		if findPerson(t, s, b.Owner, grace) != nil || len(inBin(b)) != 2 {
			t.Error("something was restored")
		}
	})
}

// Many deletions are on several pages.
func TestPagesOfTheBin(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for n := range 25 {
		id, _ := added(t, s, b.Owner, fmt.Sprintf("Person %d", n))
		deleted(t, s, b.Owner, id)
	}
	first := b.Get("/settings/bin")
	second := b.Get(linkTo(first, "Older"))
	if len(first.Forms(binRestore)) != 20 || len(second.Forms(binRestore)) != 5 || linkTo(second, "Latest") != "/settings/bin" {
		t.Errorf("%d and %d", len(first.Forms(binRestore)), len(second.Forms(binRestore)))
	}
	want(t, b.Get("/settings/bin?cursor=x"), http.StatusBadRequest, "This link is broken")
}

// A deletion of another member, and a change that is not a deletion, can be neither
// seen, restored nor made permanent; the response is the same as for one that does not
// exist.
func TestAnotherMembersBin(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		grace, addition := added(t, s, victim.Owner, "Grace Hopper")
		theirs := deleted(t, s, victim.Owner, grace)
		mine, own := added(t, s, attacker.Owner, "Somebody Else")
		deleted(t, s, attacker.Owner, mine)
		token := attacker.Get(binDelete).Form(binDelete).Get("form_token")
		var seen []string
		for _, changeID := range map[string]string{
			"another member's": theirs, "another member's change": addition, "one's own that is no deletion": own,
			"an unknown id": "chg_01J00000000000000000000000", "lower case": strings.ToLower(theirs), "a word": "x", "nothing": "", "invalid text": broken, "a pattern": "chg_%",
		} {
			for _, p := range []*webtest.Page{
				attacker.Get(binDeletePath(changeID)),
				attacker.Post(binDelete, values("form_token", token, "change", changeID)),
				attacker.Post(binRestore, values("form_token", token, "change", changeID)),
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
		for _, last := range []string{"x", broken, "chg_%", strings.ToLower(theirs)} {
			want(t, attacker.Post(binDelete, values("form_token", token, "last", last)), http.StatusNotFound, "There is nothing here")
		}
		wantRedirect(t, attacker.Post(binDelete, values("form_token", token, "last", "chg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")), "/settings/bin?done=bin-emptied")
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
	grace, _ := added(t, s, b.Owner, "Grace Hopper")
	deletion := deleted(t, s, b.Owner, grace)
	token := b.Get("/settings/bin").Form(binRestore).Get("form_token")
	strange := tokenOf(other.Get("/settings/profile"))
	for _, path := range []string{binRestore, binDelete} {
		for _, fields := range [][]string{{"change", deletion}, {"last", deletion}} {
			form := values(append(fields, "form_token", token)...)
			crossSite := b.Request(http.MethodPost, path, form)
			crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
			crossSite.Header.Set("Origin", "https://evil.example")
			for name, p := range map[string]*webtest.Page{
				"without its token":         b.Post(path, values(fields...)),
				"with another's token":      b.Post(path, values(append(fields, "form_token", strange)...)),
				"in the address":            b.Post(path+"?"+form.Encode(), values("x", "y")),
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
	wantRedirect(t, s.Browser(t).Get("/settings/bin"), "/sign-in?return_to=%2Fsettings%2Fbin")
	if got := inBin(b); len(got) != 1 || findPerson(t, s, b.Owner, grace) != nil {
		t.Errorf("something was done: %v", got)
	}
	wantRedirect(t, b.Submit(b.Get("/settings/bin"), binRestore, nil), "/settings/bin?done=restored")
}

// Of ten clicks at once, half to restore and half to delete permanently, one wins.
func TestRestoreAndDeleteForGoodAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := added(t, s, b.Owner, "Grace Hopper")
		deletion := deleted(t, s, b.Owner, grace)
		form := values("change", deletion, "form_token", b.Get("/settings/bin").Form(binRestore).Get("form_token"))
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
		restored, ended := told["303/settings/bin?done=restored"], told["303/settings/bin?done=bin-deleted"]
		c := findPerson(t, s, b.Owner, grace)
		if restored+ended != 1 || (c != nil) != (restored == 1) || len(inBin(b)) != 0 {
			t.Errorf("%v; %+v", told, c)
		}
	})
}
