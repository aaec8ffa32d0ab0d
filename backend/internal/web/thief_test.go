package web_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

var update = flag.Bool("update", false, "rewrite the table of what a copied cookie can do")

// The document with the table, and the marks around the table.
const (
	thiefDocument = "../../../deploy/docs/security.md"
	thiefBegin    = "<!-- thief: begin -->\n"
	thiefEnd      = "<!-- thief: end -->\n"
)

const (
	thiefDevice  = "Safari on iPhone"
	thiefNetwork = "198.51.100.0/24"
)

// heist is a thief with a copy of the cookie of a signed-in member, on another device and in another
// network.
type heist struct {
	*webtest.Site

	t            *testing.T
	post         post
	owner, thief *webtest.Browser
	name         string
	// app is the owner's app for one-time codes; nil if there is none.
	app *app
	// kept is what an act stored for its checks: an id, or a bearer token.
	kept string
	// before is the id of the last security event before the thief came. changes is the number of
	// changes at that time.
	before  int64
	changes int
}

// The outcomes of an attempt.
const (
	works         = "works"
	asksProof     = "refused: it asks for the password or a code"
	wantsPassword = "refused: it needs the password"
	notThere      = "refused"
)

// answerOf returns the outcome of an attempt that did nothing, by its answer.
func answerOf(p *webtest.Page) string {
	switch {
	case p.Heading() == "Confirm that it is you", strings.HasPrefix(p.Header.Get("Location"), confirmPath+"?"):
		return asksProof
	case strings.Contains(p.Body, "This is not your password."):
		return wantsPassword
	}
	return notThere
}

// submit sends the first form of a page that posts to action, as a person does. If the page has no
// such form, or if the answer asks for a proof, it posts the values alone.
func (h *heist) submit(path, action string, change url.Values) *webtest.Page {
	h.t.Helper()
	p := h.thief.Get(path)
	form := url.Values{}
	if forms := p.Forms(action); len(forms) > 0 {
		form = forms[0]
	}
	p = h.send(action, merge(form, change))
	if answerOf(p) != asksProof {
		return p
	}
	if direct := h.send(action, change); answerOf(direct) != asksProof {
		return direct
	}
	return p
}

// send posts values with the form token that the thief can read on any page.
func (h *heist) send(action string, form url.Values) *webtest.Page {
	h.t.Helper()
	form = merge(form)
	form.Set("form_token", tokenOf(h.thief.Get("/settings/profile")))
	return h.thief.Post(action, form)
}

// newHeist signs a new member in, and copies the cookie once everything is prepared.
func newHeist(t *testing.T, s *webtest.Site, p post, name string, a theft, old bool) *heist {
	t.Helper()
	h := &heist{Site: s, t: t, post: p, owner: s.Browser(t), thief: s.Browser(t), name: name}
	h.owner.Owner, h.owner.UserAgent = s.Member(t, name), firefox
	wantRedirect(t, signIn(h.owner, name, webtest.Password, ""), "/")
	if a.enrolled {
		h.app = enrol(t, s, h.owner)
	}
	if a.prepare != nil {
		a.prepare(h)
	}
	h.thief.Owner, h.thief.UserAgent = h.owner.Owner, safari
	h.thief.SetCookie("kith_session", h.owner.Cookie("kith_session"))
	h.changes = len(webtest.Changes(t, s, h.owner.Owner))
	for _, e := range h.events() {
		h.before = max(h.before, e.ID)
	}
	if old {
		stale(s)
	}
	return h
}

// events returns the member's security events since the thief came.
func (h *heist) events() []account.SecurityEvent {
	h.t.Helper()
	events, err := account.ListSecurityEvents(h.t.Context(), h.Store, h.owner.Owner, 0, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	events = slices.DeleteFunc(events, func(e account.SecurityEvent) bool { return e.ID <= h.before })
	slices.Reverse(events)
	return events
}

// seen returns what the owner's pages show of the thief's acts. It checks that each event names the
// thief's device and network and is not shown as the owner's own.
func (h *heist) seen(a theft) string {
	h.t.Helper()
	var found []string
	for _, e := range h.events() {
		if e.Device != thiefDevice || e.Address != thiefNetwork {
			h.t.Errorf("%s: the event %s has %s, %s", h.name, e.Kind, e.Device, e.Address)
		}
		found = append(found, "“"+e.Sentence("")+"”")
	}
	if len(webtest.Changes(h.t, h.Site, h.owner.Owner)) > h.changes {
		found = append(found, "the change, under Activity")
	}
	if f := a.finds; f != nil && strings.Contains(h.BrowserOf(h.t, h.owner.Owner).Get(f.path).Text(), f.words) {
		found = append(found, f.page)
	}
	if len(found) == 0 {
		return "nothing"
	}
	return strings.Join(found, ", ")
}

// ownerIn makes sure that the owner is signed in: the thief may have ended their session.
func (h *heist) ownerIn() {
	h.t.Helper()
	if isSignedIn(h.owner) {
		return
	}
	sent := signIn(h.owner, h.name, webtest.Password, "")
	if sent.Header.Get("Location") == twoStepPath {
		h.app.next()
		sent = h.owner.Submit(h.owner.Follow(sent), twoStepPath, webtest.Values("code", h.app.code(h.t)))
	}
	wantRedirect(h.t, sent, "/")
}

// theft is one thing that a thief tries.
type theft struct {
	name string
	// worst is set if an old proof must not be enough.
	worst bool
	// enrolled is set if the member has a second factor.
	enrolled bool
	prepare  func(h *heist)
	// try makes the attempt, by the pages and then by a direct POST, and returns the last answer.
	try func(h *heist) *webtest.Page
	// done reports whether the thief has what they wanted, by the answer or by what is stored.
	done func(h *heist, p *webtest.Page) bool
	// ends says what ends the thief's access or undoes the act: byNotMe, or what the owner does
	// after signing out all other browsers.
	ends string
	// mend does what ends says; nil if ending the session is enough, or if the act cannot be
	// undone.
	mend func(h *heist)
	// finds is a page on which the owner finds it, with its name and the words on it; nil if only
	// the security page and Activity show it.
	finds *finding
	// guess is set if it needs a password that the thief does not know, so that it always fails.
	guess bool
}

type finding struct{ path, page, words string }

// byNotMe is the link in the emails. The other ways begin with the button on the security page.
const byNotMe = "“This was not me”"

// out ends the thief's session as the owner does, and fails unless the thief is out.
func (h *heist) out(a theft, worked bool, answer *webtest.Page) {
	h.t.Helper()
	if worked && a.ends == byNotMe {
		secret, err := account.CreateNotMeLink(h.t.Context(), h.Store, h.owner.Owner, emailOf(h.t, h.Site, h.owner.Owner))
		if err != nil {
			h.t.Fatal(err)
		}
		reader := h.Browser(h.t)
		wantRedirect(h.t, reader.Submit(reader.Get(notMePath+"?link="+secret), notMePath, nil), "/sign-in?done=not-me")
		if a.done(h, answer) {
			h.t.Errorf("%s: it goes on after “This was not me”", a.name)
		}
	} else {
		h.ownerIn()
		wantRedirect(h.t, h.owner.Submit(h.owner.Get(securityPage), endOthersForm, url.Values{}), securityPage+"?done=sessions-ended")
		if !isSignedIn(h.owner) {
			h.t.Errorf("%s: the owner is signed out", h.name)
		}
	}
	if isSignedIn(h.thief) {
		h.t.Errorf("%s: the copied cookie goes on", h.name)
	}
	if worked && a.mend != nil {
		a.mend(h)
		if a.done(h, answer) {
			h.t.Errorf("%s: it goes on", a.name)
		}
	}
}

// undo lets the owner undo what was changed.
func undo(h *heist) {
	h.t.Helper()
	all := webtest.Changes(h.t, h.Site, h.owner.Owner)
	for _, c := range all[:len(all)-h.changes] {
		sent := h.owner.Submit(h.owner.Get(webtest.UndoPath(c.ID)), webtest.UndoForm, nil)
		if sent.Status != http.StatusSeeOther {
			h.t.Errorf("undo: %d %s", sent.Status, sent.Text())
		}
	}
}

// row is a row of the table.
type row struct{ fresh, old, seen string }

// TestCopiedCookie tries everything that a thief could do with a copied session cookie, from another
// device and network: once within ten minutes after the member authenticated, and once later. The
// outcomes are a table in security.md. Later, acts such as exporting or changing the password are
// refused. On one page, the owner can end all access that the thief got.
func TestCopiedCookie(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		p, options := withMail(t)
		mailOn := options.Web
		address := func(r *http.Request) string {
			if r.UserAgent() == safari {
				return "198.51.100.7"
			}
			return "203.0.113.77"
		}
		options.Web = func(c *web.Config) {
			mailOn(c)
			c.EmbeddingsHost, c.EmbeddingsModel = "vectors.example", "small-1"
			c.ClientAddress = address
		}
		options.Auth = func(c *oauth.Config) { c.ClientAddress = address }
		s := webtest.Start(t, url, options)
		rows := make([]row, len(thefts()))
		for i, a := range thefts() {
			for _, old := range []bool{false, true} {
				rows[i].steal(t, s, p, fmt.Sprintf("member%d%t", i, old), a, old)
			}
		}
		checkTable(t, thiefTable(rows, mailsAbout(t, p)))
	})
}

// steal tries an act as a new member's thief, and enters in the row what came of it.
func (r *row) steal(t *testing.T, s *webtest.Site, p post, name string, a theft, old bool) {
	t.Helper()
	h := newHeist(t, s, p, name, a, old)
	answer := a.try(h)
	result := works
	if !a.done(h, answer) {
		result = answerOf(answer)
	}
	if a.worst && old && result == works {
		t.Errorf("%s: works with an old proof", a.name)
	}
	if !a.guess && result != works && (!old || !a.worst) || a.guess && result == works {
		t.Errorf("%s: %s: %d %s", a.name, result, answer.Status, answer.Text())
	}
	if old {
		r.old = result
	} else {
		r.fresh = result
	}
	if seen := h.seen(a); !old || result == works && r.fresh != works {
		r.seen = seen
	} else if result == r.fresh && seen != r.seen {
		t.Errorf("%s: the owner sees %s, and with an old proof %s", a.name, r.seen, seen)
	}
	h.out(a, result == works, answer)
}

// mailsAbout returns the subjects of the emails about the thief, by who got them.
func mailsAbout(t *testing.T, p post) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for range p.settle(t) {
		email := p.Next(t)
		if text, _ := email.Parts(t); strings.Contains(text, thiefDevice) && !slices.Contains(all[email.To], subjectOf(email)) {
			all[email.To] = append(all[email.To], subjectOf(email))
		}
	}
	return all
}

func subjectOf(e smtptest.Email) string { return "“" + e.Header.Get("Subject") + "”" }

// thiefTable returns the table.
func thiefTable(rows []row, mails map[string][]string) string {
	var out strings.Builder
	out.WriteString("| What the thief tries | With a proof from the last ten minutes | With an older proof | What the owner sees | Email to the owner | What stops it |\n|---|---|---|---|---|---|\n")
	for i, a := range thefts() {
		mailed := "nothing"
		if subjects := mails[fmt.Sprintf("member%d%t@people.example", i, false)]; len(subjects) > 0 {
			mailed = strings.Join(subjects, ", ")
		}
		ends := "“Sign out all other browsers”"
		switch {
		case rows[i].fresh != works && rows[i].old != works:
		case a.ends == byNotMe:
			ends = byNotMe
		case a.ends != "":
			ends += "; " + a.ends
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", a.name, rows[i].fresh, rows[i].old, rows[i].seen, mailed, ends)
	}
	return out.String()
}

// checkTable compares the table with the one in the document, or writes it.
func checkTable(t *testing.T, table string) {
	t.Helper()
	document, err := os.ReadFile(thiefDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(document), thiefBegin)
	stored, after, ended := strings.Cut(rest, thiefEnd)
	if !ok || !ended {
		t.Fatal("the document has no place for the table")
	}
	if *update {
		if err := os.WriteFile(thiefDocument, []byte(before+thiefBegin+table+thiefEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if stored != table {
		t.Errorf("the table in %s is another one; rewrite it with -update:\n%s", thiefDocument, table)
	}
}
