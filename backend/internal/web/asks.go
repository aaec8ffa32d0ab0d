package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

// askForm is the form that chooses which acts of an agent or a token need the member's approval.
type askForm struct {
	// Prefix begins the ids of the inputs.
	Prefix string
	Acts   []actChoice
	// Above is how many people a call may change without approval, as it was typed.
	Above string
	// Words list the acts that need approval, as part of a sentence; empty for none.
	Words string
	// Error is the error of Above.
	Error string
}

// actChoice is the checkbox of a kind of act.
type actChoice struct {
	Value, Label string
	Checked      bool
}

// askFormOf returns the form of a credential; nil if its scopes only read.
func askFormOf(format page.Format, prefix string, scopes []string, stored string) *askForm {
	if !slices.Contains(scopes, catalog.ScopeWrite) {
		return nil
	}
	asks := tenant.ParseAsks(stored)
	form := &askForm{Prefix: prefix, Above: strconv.Itoa(asks.Above)}
	form.tick(asks.Acts)
	var words []string
	for _, act := range asks.Acts {
		words = append(words, map[string]string{
			catalog.ActDelete: format.Text("deleting"), catalog.ActMerge: format.Text("merging"), catalog.ActImport: format.Text("importing"),
			catalog.ActBulk: format.Text("changing more than %s people", form.Above),
		}[act])
	}
	form.Words = format.And(words)
	return form
}

// tick sets which kinds of acts are ticked.
func (f *askForm) tick(acts []string) {
	labels := map[string]string{
		catalog.ActDelete: "Deleting or archiving people, or deleting, emptying or overwriting parts of their data", catalog.ActMerge: "Merging people",
		catalog.ActImport: "Importing people, and undoing an import", catalog.ActBulk: "Changing many people at once",
	}
	f.Acts = nil
	for _, act := range catalog.Acts() {
		f.Acts = append(f.Acts, actChoice{act, labels[act], slices.Contains(acts, act)})
	}
}

// setAsks saves which acts of an agent or a token need the member's approval.
func (v *request) setAsks() error {
	whose, asks := v.Line("id"), tenant.ApprovalPolicy{Above: tenant.DefaultAbove}
	for _, act := range catalog.Acts() {
		if slices.Contains(v.R.PostForm["act"], act) {
			asks.Acts = append(asks.Acts, act)
		}
	}
	typed := strings.TrimSpace(v.R.PostForm.Get("above"))
	above, err := strconv.Atoi(typed)
	switch {
	case err == nil && above >= 1 && above <= tenant.MaxAbove:
		asks.Above = above
	case asks.Before(catalog.ActBulk):
		return v.askAgain(whose, asks, typed)
	}
	back := page.PathAgents
	if id.Valid(id.Token, whose) {
		back, err = page.PathTokens, account.SetTokenAsks(v.R.Context(), v.Store, v.Login.MemberID, whose, asks)
	} else {
		err = oauth.SetAsks(v.R.Context(), v.Store, v.Login.MemberID, whose, asks)
	}
	if err != nil {
		return err
	}
	v.record(account.AgentAsks, v.Login.MemberID, whose)
	return v.RedirectDone(back, "agent-asks")
}

// askAgain shows the form again, with what was chosen and typed.
func (v *request) askAgain(whose string, asks tenant.ApprovalPolicy, typed string) error {
	m := &page.Mistakes{}
	refill := func(form *askForm) error {
		if form == nil {
			return fault.New(fault.NotFound, "there is no such agent or token")
		}
		form.tick(asks.Acts)
		form.Above, form.Error = typed, "Enter a number from 1 to "+strconv.Itoa(tenant.MaxAbove)+"."
		m.Add(form.Prefix+"above", form.Error)
		return nil
	}
	if id.Valid(id.Token, whose) {
		return v.renderTokens(http.StatusUnprocessableEntity, v.newTokenForm(), m, func(rows []tokenRow) error {
			for _, row := range rows {
				if row.ID == whose {
					return refill(row.Ask)
				}
			}
			return refill(nil)
		})
	}
	return v.renderMCP(http.StatusUnprocessableEntity, m, func(c *mcpContent) error {
		for _, row := range c.Agents {
			if row.ClientID == whose {
				return refill(row.Ask)
			}
		}
		return refill(nil)
	})
}
