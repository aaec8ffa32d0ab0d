package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/backend/internal/web/review"
	"github.com/kith-crm/kith/proto/catalog"
)

// tokenForm is the form that creates a personal token.
type tokenForm struct {
	Name    page.Field
	Scopes  scopeChoices
	Tools   toolChoices
	Expires page.Select
}

// toolChoices are the choices of the form about a limit to named tools.
type toolChoices struct {
	Tools []toolChoice
	Error string
}

// Chosen reports whether the choices must be visible: one is checked, or there is an error.
func (c toolChoices) Chosen() bool {
	return c.Error != "" || slices.ContainsFunc(c.Tools, func(t toolChoice) bool { return t.Checked })
}

// toolChoice is the checkbox of a tool.
type toolChoice struct {
	Name, Title string
	Checked     bool
}

// tokensContent is the data of the template tokens.html: the page that lists and creates personal tokens.
type tokensContent struct {
	// Agents is the address of the page of agents.
	Agents string
	Tokens []tokenRow
	// Form creates a new token.
	Form tokenForm
	// Made is a new token, which is shown only this once.
	Made *madeToken
}

type tokenRow struct {
	ID, Name                         string
	Scopes                           scopeNames
	Tools                            []string
	CreatedAt, ExpiresAt, LastUsedAt time.Time
	Expired                          bool
	Reads                            review.AgentReads
	Did                              did
	// Ask is the form that chooses which acts need the member's approval; nil if it can only read.
	Ask *askForm
}

func (v *request) showTokens() error {
	return v.renderTokens(http.StatusOK, v.newTokenForm(), &page.Mistakes{}, nil)
}

// renderTokens renders the page of tokens. It first calls change, unless that is nil, to change the tokens.
func (v *request) renderTokens(status int, form tokenForm, m *page.Mistakes, change func([]tokenRow) error) error {
	tokens, err := account.ListPersonalTokens(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	used, err := v.useOfCredentials(v.R.Context())
	if err != nil {
		return err
	}
	content := tokensContent{Agents: page.PathAgents, Tokens: v.tokenRows(tokens, used), Form: form}
	if change != nil {
		if err := change(content.Tokens); err != nil {
			return err
		}
	}
	content.Made = v.takeMade(madeCookie) // last, so that an outage does not lose the member's new token
	return v.Render(status, "tokens", page.Page{Title: "Personal tokens", Section: page.PathTokens, Errors: m.List, Content: content})
}

// tokenRows returns the tokens that are not revoked.
func (v *request) tokenRows(tokens []account.PersonalToken, used credentialUse) []tokenRow {
	var rows []tokenRow
	for _, t := range tokens {
		if !t.RevokedAt.IsZero() {
			continue
		}
		rows = append(rows, tokenRow{
			ID: t.ID, Name: t.Name, Scopes: namesOf(strings.Fields(t.Scopes)), Tools: strings.Fields(t.Tools), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
			Ask:        askFormOf(v.Format(), "token-"+strconv.Itoa(len(rows))+"-", strings.Fields(t.Scopes), t.Asks),
			LastUsedAt: t.LastUsedAt, Expired: !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(v.Now()), Reads: used.reads[t.ID], Did: didOf([]string{t.ID}, t.Name, used.changes),
		})
	}
	return rows
}

// lifetimes are the choices of the form, in days; 0 means no expiry.
func lifetimes() []page.Option {
	return []page.Option{{Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "365", Label: "One year"}, {Value: "0", Label: "Never"}}
}

const defaultLifetime = "90"

// newTokenForm returns a form that is filled in for read access only.
func (v *request) newTokenForm() tokenForm {
	return v.tokenForm("", defaultLifetime, func(scope string) bool { return scope != catalog.ScopeWrite }, nil, &page.Mistakes{})
}

func (v *request) tokenForm(name, lifetime string, chosen func(scope string) bool, tools []string, m *page.Mistakes) tokenForm {
	form := tokenForm{
		Name: page.Field{
			Name: "name", Label: "Name", Value: name, Required: true, Error: m.Of("name"), Autocomplete: "off",
			Hint: "To recognise it later, for example: backup script.",
		},
		Scopes:  choicesOf(v.Catalog.Scopes(), chosen),
		Expires: page.Select{Name: "expires", Label: "It works for", Options: page.Choose(lifetime, lifetimes()...)},
	}
	form.Scopes.Error, form.Tools.Error = m.Of("scope"), m.Of("tool")
	for _, rpc := range v.Catalog.Tools() {
		form.Tools.Tools = append(form.Tools.Tools, toolChoice{rpc.Tool.Name, rpc.Tool.Title, slices.Contains(tools, rpc.Tool.Name)})
	}
	return form
}

// createToken creates a token and sends the browser to the page that shows it, once.
func (v *request) createToken() error {
	scopes, tools := v.R.PostForm["scope"], v.R.PostForm["tool"]
	name, lifetime, m := v.Line("name"), v.R.PostForm.Get("expires"), &page.Mistakes{}
	if err := m.Take("name", account.CheckName(name)); err != nil {
		return err
	}
	if err := m.Take("scope", v.checkScopes(scopes)); err != nil {
		return err
	}
	if err := m.Take("tool", account.CheckTools(v.Catalog, tools, scopes)); err != nil {
		return err
	}
	expiresAt, known := v.expiry(lifetime)
	if !known {
		m.Add("expires", "Choose how long it works.")
	}
	again := func() error {
		form := v.tokenForm(name, lifetime, func(s string) bool { return slices.Contains(scopes, s) }, tools, m)
		return v.renderTokens(http.StatusUnprocessableEntity, form, m, nil)
	}
	if len(m.List) > 0 {
		return again()
	}
	bearer, err := account.GenerateToken()
	if err != nil {
		return err
	}
	row := &account.PersonalToken{
		MemberID: v.Login.MemberID, Name: name, Hash: account.HashSecret(bearer), Scopes: strings.Join(scopes, " "),
		Tools: strings.Join(tools, " "), ExpiresAt: expiresAt, Access: v.Login.Access(),
	}
	err = account.CreatePersonalToken(v.R.Context(), v.Store, row)
	if fault.Is(err, fault.Exhausted) {
		m.Add("name", "You have "+strconv.Itoa(account.MaxTokens)+" tokens. Revoke one that you do not use any more.")
		return again()
	}
	if err != nil {
		return err
	}
	v.record(account.TokenCreated, v.Login.MemberID, row.ID)
	if err := v.handOver(madeCookie, madeToken{Name: name, Bearer: bearer}); err != nil {
		return err
	}
	return v.Redirect(page.PathTokens)
}

func (v *request) checkScopes(scopes []string) error {
	if !slices.ContainsFunc(scopes, func(s string) bool { return s != catalog.ScopeWrite }) {
		if len(scopes) > 0 {
			return fault.InvalidField("scope", "choose at least one area. Leave to change things counts for the ticked areas alone: by itself it permits nothing")
		}
		return fault.InvalidField("scope", "choose at least one area")
	}
	for i, scope := range scopes {
		if !v.Catalog.HasScope(scope) || slices.Contains(scopes[:i], scope) {
			return fault.InvalidField("scope", "choose from those below")
		}
	}
	return nil
}

// expiry returns when a token with a lifetime expires; zero if it does not.
func (v *request) expiry(lifetime string) (time.Time, bool) {
	known := page.HasOption(lifetimes(), lifetime)
	days, err := strconv.Atoi(lifetime)
	if !known || err != nil || days == 0 {
		return time.Time{}, known
	}
	return v.Now().UTC().Add(time.Duration(days) * 24 * time.Hour), true
}

func (v *request) revokeToken() error {
	err := account.RevokePersonalToken(v.R.Context(), v.Store, v.Login.MemberID, v.Line("id"), v.Now().UTC())
	if err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, v.Line("id"))
	return v.RedirectDone(page.PathTokens, "token-revoked")
}
