package web_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// thefts are what a thief with a copied cookie tries, in the order of the table.
func thefts() []theft {
	return append(append(readingThefts(), changingThefts()...), append(settingThefts(), worstThefts()...)...)
}

// grace adds a person with a note.
func grace(h *heist) {
	h.t.Helper()
	h.kept, _ = webtest.Added(h.t, h.Site, h.owner.Owner, "Grace Hopper")
	webtest.Noted(h.t, h.Site, h.owner.Owner, h.kept, "Likes compilers")
}

// shows returns a check that the answer has some words.
func shows(words string) func(*heist, *webtest.Page) bool {
	return func(_ *heist, p *webtest.Page) bool {
		return p.Status == http.StatusOK && strings.Contains(p.Body, words)
	}
}

func readingThefts() []theft {
	const stays = "the thief keeps what was read"
	return []theft{
		{
			name: "Read people and notes, page by page", prepare: grace, ends: stays, done: shows("Likes compilers"),
			try: func(h *heist) *webtest.Page { return h.thief.Get("/people/" + h.kept) },
		},
		{
			name: "Read the security page: sessions, activity, e-mail address", ends: stays, done: shows("Security activity"),
			try: func(h *heist) *webtest.Page { return h.thief.Get(securityPage) },
		},
	}
}

func changingThefts() []theft {
	return []theft{
		{
			name: "Add a person", ends: "Activity → Undo", mend: undo,
			try: func(h *heist) *webtest.Page {
				return h.submit("/people/new?line=Planted+Person", "/people/new", webtest.Values("name", "Planted Person"))
			},
			done: func(h *heist, _ *webtest.Page) bool { return strings.Contains(h.listed(), "Planted Person") },
		},
		{
			name: "Move all people to the bin", prepare: grace, ends: "Activity → Undo", mend: undo,
			try: func(h *heist) *webtest.Page {
				return h.submit("/people", "/people/act", url.Values{"act": {"delete"}, "id": {h.kept}, "confirmed": {"yes"}})
			},
			done: func(h *heist, _ *webtest.Page) bool { return !strings.Contains(h.listed(), "Grace Hopper") },
		},
		{
			name: "Undo an earlier change", ends: "Activity → Undo", mend: undo,
			prepare: func(h *heist) {
				_, h.kept = webtest.Added(h.t, h.Site, h.owner.Owner, "Grace Hopper")
			},
			try: func(h *heist) *webtest.Page {
				return h.submit(webtest.UndoPath(h.kept), webtest.UndoForm, nil)
			},
			done: func(h *heist, _ *webtest.Page) bool { return !strings.Contains(h.listed(), "Grace Hopper") },
		},
		{
			name: "Import a file", ends: "Settings → Imports → Cancel, or Undo", try: (*heist).importFile,
			finds: &finding{"/settings/imports", "the file, under Settings → Imports", "people.csv"},
			done: func(h *heist, _ *webtest.Page) bool {
				jobs, err := job.ListJobs(h.t.Context(), h.Store.Tenant(h.owner.Owner, true), importer.JobKind, 10)
				if err != nil {
					h.t.Fatal(err)
				}
				return len(jobs) > 0 && !jobs[0].CancelRequested && !jobs[0].Terminal()
			},
			mend: func(h *heist) {
				page := h.owner.Get("/settings/imports")
				h.owner.Submit(page, "/settings/imports/cancel", nil)
			},
		},
		{
			name: "Approve an agent's request", ends: "for what the agent then does, Activity → Undo", prepare: question,
			finds: &finding{"/decide", "the approval, next to the request", "Approved"},
			try:   func(h *heist) *webtest.Page { return h.submit("/decide", "/decide/approve", nil) },
			done: func(h *heist, _ *webtest.Page) bool {
				d, err := decision.Get(h.t.Context(), h.Store.Tenant(h.owner.Owner, true), h.kept)
				if err != nil {
					h.t.Fatal(err)
				}
				return d.State == decision.Approved
			},
		},
	}
}

// listed returns the list of people, as the owner sees it.
func (h *heist) listed() string {
	b := h.BrowserOf(h.t, h.owner.Owner)
	return b.Get("/people").Text()
}

// importFile uploads a file of people and starts the import.
func (h *heist) importFile() *webtest.Page {
	h.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("form_token", tokenOf(h.thief.Get("/import"))) // writing to memory cannot fail
	part, err := w.CreateFormFile("file", "people.csv")
	if err != nil {
		h.t.Fatal(err)
	}
	_, _ = part.Write([]byte("Name\nPlanted Person\n"))
	_ = w.Close()
	base := h.thief.Request(http.MethodGet, "/import", nil)
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, base.URL.String(), &body)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = base.Header
	r.Header.Set("Content-Type", w.FormDataContentType())
	sent := h.thief.Do(r)
	if sent.Status != http.StatusSeeOther {
		return sent
	}
	preview := sent.Header.Get("Location")
	return h.submit(preview, preview, webtest.Values("act", "start"))
}

// question makes an agent ask before it does something.
func question(h *heist) {
	h.t.Helper()
	d := webtest.By(h.t, h.Site, h.owner.Owner, "archive_connections", func(ctx context.Context, tx *db.Tx) (*decision.Decision, error) {
		d, _, err := decision.Ask(ctx, tx, decision.Call{
			Fingerprint: "x", Arguments: `{"ids":[]}`, Kinds: "delete", Preview: decision.Preview{Summary: "Archived everybody", People: 12},
		})
		return d, err
	})
	h.kept = d.ID
}

func settingThefts() []theft {
	return []theft{
		{
			name: "Make the profile public", ends: "Settings → Profile to change it back",
			try: func(h *heist) *webtest.Page {
				return h.submit("/settings/profile", "/settings/profile", webtest.Values("visibility", "public"))
			},
			done: func(h *heist, _ *webtest.Page) bool {
				p, err := account.GetProfile(h.t.Context(), h.Store, h.owner.Owner)
				return err == nil && p.Visibility == account.Public
			},
			mend: func(h *heist) {
				h.owner.Submit(h.owner.Get("/settings/profile"), "/settings/profile", webtest.Values("visibility", "private"))
			},
		},
		{
			name: "Allow texts to be sent for search by meaning", ends: "Settings → Search → Stop sending",
			try:  func(h *heist) *webtest.Page { return h.submit("/settings/search", "/settings/search", nil) },
			done: func(h *heist, _ *webtest.Page) bool { return allowedHost(h.t, h.Site, h.owner) != "" },
			mend: func(h *heist) { h.owner.Submit(h.owner.Get("/settings/search"), "/settings/search", nil) },
		},
		{
			name: "Resume a paused agent", ends: "Settings → Agents → Pause", prepare: func(h *heist) {
				h.kept = wideAgent(h.t, h.Site, h.owner, h.Client(h.t, "Agent Smith", "https://a.example/cb"))
				h.owner.Submit(h.owner.Get("/settings/agents"), "/settings/agents/pause", nil)
			},
			try: func(h *heist) *webtest.Page { return h.submit("/settings/agents", "/settings/agents/resume", nil) },
			done: func(h *heist, _ *webtest.Page) bool {
				p, err := oauth.Authenticate(h.t.Context(), h.Store, h.kept)
				return err == nil && !p.Credential.Paused
			},
			mend: func(h *heist) { h.owner.Submit(h.owner.Get("/settings/agents"), "/settings/agents/pause", nil) },
		},
		{
			name: "Stop an agent from asking for approval", ends: "Settings → Agents → Ask me first", prepare: func(h *heist) {
				h.kept = wideAgent(h.t, h.Site, h.owner, h.Client(h.t, "Agent Smith", "https://a.example/cb"))
				h.owner.Submit(h.owner.Get("/settings/agents"), askForm, webtest.Values("act", "delete"))
			},
			try: func(h *heist) *webtest.Page {
				return h.submit("/settings/agents", askForm, url.Values{"act": {""}})
			},
			done: func(h *heist, _ *webtest.Page) bool { return asksOf(h.t, h.Site, h.kept) == "" },
			mend: func(h *heist) {
				h.owner.Submit(h.owner.Get("/settings/agents"), askForm, webtest.Values("act", "delete"))
			},
		},
		{
			name: "Revoke an agent", ends: "the owner connects it again",
			prepare: func(h *heist) { h.kept = grantOf(h.t, h.Site, h.owner) },
			try:     func(h *heist) *webtest.Page { return h.submit("/settings/mcp", "/settings/mcp/agents/revoke", nil) },
			done:    func(h *heist, _ *webtest.Page) bool { return !h.alive() },
		},
		{
			name: "Sign the owner out", ends: "after the owner signs in again",
			try: func(h *heist) *webtest.Page {
				return h.submit(securityPage, endOthersForm, nil)
			},
			done: func(h *heist, _ *webtest.Page) bool { return !isSignedIn(h.owner) },
		},
	}
}

// alive reports whether the bearer token that an act made works.
func (h *heist) alive() bool {
	_, err := oauth.Authenticate(h.t.Context(), h.Store, h.kept)
	return err == nil
}

// consents returns an act: a client of the thief asks for scopes, and the thief allows it.
func consents(more ...string) func(h *heist) *webtest.Page {
	return func(h *heist) *webtest.Page {
		p := h.thief.Get(authorizePath(h.Client(h.t, "Helpful Agent", "https://a.example/cb").ID, "https://a.example/cb", more...))
		if len(p.Forms("/oauth/consent")) == 0 {
			return p
		}
		p = h.thief.Post("/oauth/consent", allow(p))
		if strings.Contains(p.Header.Get("Location"), "code=") {
			h.kept = redeem(h.t, h.Site, p)
		}
		return p
	}
}

// downloaded reports whether the answer is a file.
func downloaded(_ *heist, p *webtest.Page) bool {
	return p.Status == http.StatusOK && strings.HasPrefix(p.Header.Get("Content-Disposition"), "attachment") && p.Body != ""
}

// worstThefts are the acts that need a fresh proof.
func worstThefts() []theft {
	all := append(accessThefts(), factorThefts()...)
	all = append(all, exportThefts()...)
	all = append(all, endingThefts()...)
	for i := range all {
		all[i].worst = true
	}
	return all
}

func accessThefts() []theft {
	bearer := func(h *heist, _ *webtest.Page) bool { return h.kept != "" && h.alive() }
	return []theft{
		{
			name: "Make a personal token", ends: byNotMe, done: bearer,
			try: func(h *heist) *webtest.Page {
				p := h.submit("/settings/mcp/tokens", "/settings/mcp/tokens", webtest.Values("name", "thiefs", "scope", "connections", "expires", "0"))
				if p.Status == http.StatusSeeOther {
					h.kept = webtest.TextOf(h.thief.Follow(p).ByID("made-token"))
				}
				return p
			},
		},
		{
			name: "Add a device that synchronises people", ends: byNotMe,
			try: func(h *heist) *webtest.Page {
				p := h.submit("/settings/devices", "/settings/devices", webtest.Values("name", "thiefs", "setup", "profile"))
				if p.Header.Get("Content-Type") == profileType {
					_, card := readProfile(h.t, p.Body)
					h.kept = card["CardDAVPassword"].(string)
				}
				return p
			},
			done: func(h *heist, _ *webtest.Page) bool {
				_, err := oauth.AuthenticateDevice(h.t.Context(), h.Store, h.name, h.kept)
				return err == nil
			},
		},
		{
			name: "Allow a program to be a device", ends: byNotMe,
			try: func(h *heist) *webtest.Page {
				secret, path := beginLogin(h.t, h.Site, "DAVx5", thiefNetwork)
				p := h.submit(path, account.PathDeviceLogin, webtest.Values("name", "thiefs"))
				_, h.kept, _ = account.FinishDeviceLogin(h.t.Context(), h.Store, secret)
				return p
			},
			done: func(h *heist, _ *webtest.Page) bool {
				_, err := oauth.AuthenticateDevice(h.t.Context(), h.Store, h.name, h.kept)
				return err == nil
			},
		},
		{
			name: "Make a calendar feed", ends: byNotMe,
			try: func(h *heist) *webtest.Page {
				p := h.submit("/settings/devices", "/settings/devices/feeds", webtest.Values("feed_name", "thiefs"))
				if p.Status == http.StatusSeeOther {
					h.kept = strings.TrimPrefix(webtest.TextOf(h.thief.Follow(p).ByID("feed-address")), h.URL)
				}
				return p
			},
			done: func(h *heist, _ *webtest.Page) bool {
				return h.kept != "" && h.Browser(h.t).Get(h.kept).Status == http.StatusOK
			},
		},
		{name: "Allow an agent to change things", ends: byNotMe, done: bearer, try: consents()},
		{name: "Allow an agent to read", ends: byNotMe, done: bearer, try: consents("scope", "connections")},
	}
}

func exportThefts() []theft {
	const stays = "the thief keeps what was read"
	return []theft{
		{
			name: "Export the account", prepare: grace, ends: stays, done: downloaded,
			try: func(h *heist) *webtest.Page { return h.thief.Get("/settings/account/export") },
		},
		{
			name: "Export people from the list", prepare: grace, ends: stays, done: downloaded,
			try: func(h *heist) *webtest.Page {
				return h.submit("/people", "/people/act", url.Values{"act": {"export"}, "id": {h.kept}, "confirmed": {"yes"}, "format": {"csv"}})
			},
		},
		{
			name: "Download a file that an agent exported", ends: stays, done: downloaded,
			prepare: func(h *heist) {
				grace(h)
				h.kept = ended(h.t, h.Site, h.owner.Owner, export.JobKind, job.Succeeded)
			},
			try: func(h *heist) *webtest.Page { return h.thief.Get(export.PathFiles + h.kept) },
		},
	}
}

func factorThefts() []theft {
	return []theft{
		{
			name: "Set up their own second factor", ends: byNotMe,
			try: func(h *heist) *webtest.Page {
				page := h.thief.Get(factorsPath)
				known := &app{site: h.Site, secret: webtest.TextOf(page.ByID("setup-key"))}
				return h.thief.Submit(page, factorsPath, webtest.Values("code", known.code(h.t)))
			},
			done: func(h *heist, _ *webtest.Page) bool { return h.factors().On() },
		},
		{
			name: "Make new recovery codes", enrolled: true, ends: "the owner makes new ones",
			try:  func(h *heist) *webtest.Page { return h.submit(factorsPath, factorsPath+"/codes", nil) },
			done: func(h *heist, p *webtest.Page) bool { return strings.Contains(p.Header.Get("Location"), "codes-made") },
		},
		{
			name: "Turn the second factor off", enrolled: true, ends: "the owner sets it up again",
			try:  func(h *heist) *webtest.Page { return h.submit(factorsPath, factorsPath+"/off", nil) },
			done: func(h *heist, _ *webtest.Page) bool { return !h.factors().On() },
		},
		{
			name: "Change the password, by guessing the old one", guess: true,
			try: func(h *heist) *webtest.Page {
				return h.submit(securityPage, "/settings/security/password", merge(chosenPassword(), webtest.Values("password", "a guess of it")))
			},
			done: func(h *heist, _ *webtest.Page) bool { return h.member().PasswordHash != h.Hash(h.t) },
		},
		{
			name: "Change the e-mail address, by guessing the password", guess: true,
			try: func(h *heist) *webtest.Page {
				return h.submit(securityPage, emailForm, webtest.Values("new_email", "thief@people.example", "email_password", "a guess of it"))
			},
			done: func(h *heist, p *webtest.Page) bool {
				return strings.Contains(p.Header.Get("Location"), "email-asked") || h.member().Email == "thief@people.example"
			},
		},
	}
}

func (h *heist) factors() account.SecondFactors {
	h.t.Helper()
	f, err := account.GetSecondFactors(h.t.Context(), h.Store, h.owner.Owner)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

func (h *heist) member() *account.Member {
	h.t.Helper()
	m, err := account.GetMemberByID(h.t.Context(), h.Store, h.owner.Owner)
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

func endingThefts() []theft {
	return []theft{
		{
			name: "Delete people in the bin for good", ends: "the people cannot be restored",
			prepare: func(h *heist) {
				grace(h)
				h.kept = webtest.Deleted(h.t, h.Site, h.owner.Owner, h.kept)
			},
			try: func(h *heist) *webtest.Page {
				return h.submit("/people/bin/delete?change="+h.kept, "/people/bin/delete", webtest.Values("change", h.kept))
			},
			done: func(_ *heist, p *webtest.Page) bool { return strings.Contains(p.Header.Get("Location"), "bin-deleted") },
		},
		{
			name: "Delete the account, by guessing the password", guess: true,
			try: func(h *heist) *webtest.Page {
				return h.submit("/settings/account", "/settings/account/delete", webtest.Values("username", h.name, "password", "a guess of it"))
			},
			done: func(h *heist, _ *webtest.Page) bool {
				_, err := account.GetMemberByID(h.t.Context(), h.Store, h.owner.Owner)
				return err != nil
			},
		},
	}
}
