package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
	"github.com/kith-crm/kith/proto/catalog"
)

// decideTool is the name under which decisions are recorded, decisionParameter names one.
const (
	decideTool        = "decide"
	decisionParameter = "decision"
)

// maxDecided is how many past decisions are shown.
const maxDecided = 20

// decideContent is the content of the page of decisions.
type decideContent struct {
	Waiting []waitingRow
	// Cards are what devices sent that others had changed too.
	Cards []cardRow
	Last  []decidedRow
}

// cardRow is a card of a device that waits for a decision.
type cardRow struct {
	Row

	// Wrong says why it cannot be approved; empty if it can.
	Wrong string
}

// waitingRow is a call that waits for a decision.
type waitingRow struct {
	Row

	// Why says which acts the member wants to approve, Until is when it expires, and Price what it costs, in
	// credits.
	Why   string
	Until time.Time
	Price int
	// Paused is set while the agent is paused. Changed is set if the people whom it is about have
	// changed since the agent asked.
	Paused, Changed bool
	// Import is set if the call imports a file.
	Import *askedImport
}

// decidedRow is a decision that was made, or that expired.
type decidedRow struct {
	Who, Tool string
	At        time.Time
	// Outcome says what became of it.
	Outcome string
	// Change is what was done, if it is still known.
	Change Row
	// Device is set for a card of a device, and What says what it would do. Refused is its id if it can still be approved.
	Device        bool
	What, Refused string
}

func (v *request) showDecide() error {
	var content decideContent
	waiting, err := decision.ListWaiting(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	if content.Waiting, err = v.waitingRows(waiting); err != nil {
		return err
	}
	last, err := decision.ListLast(v.Ctx, v.Data(), maxDecided)
	if err != nil {
		return err
	}
	if content.Last, err = v.decidedRows(last); err != nil {
		return err
	}
	if err := v.addCards(&content); err != nil {
		return err
	}
	return v.Render(http.StatusOK, "decide", page.Page{Title: "Decide", Area: page.PathActivity, Content: content})
}

func (v *request) waitingRows(waiting []decision.Decision) ([]waitingRow, error) {
	if len(waiting) == 0 {
		return nil, nil
	}
	grants, err := oauth.ListGrants(v.Ctx, v.Store, v.Principal.Tenant)
	if err != nil {
		return nil, err
	}
	paused := map[string]bool{}
	for _, g := range grants {
		paused[g.ID] = !g.PausedAt.IsZero()
	}
	changes := make([]history.Change, len(waiting))
	for i, d := range waiting {
		changes[i] = history.Change{
			CredentialID: d.CredentialID, CredentialName: d.CredentialName, Tool: d.Tool, Summary: d.Preview.Summary,
			Effects: d.Preview.Effects, CreatedAt: d.CreatedAt,
		}
	}
	rows, err := v.rows(changes, maxEffects, wholeText)
	if err != nil {
		return nil, err
	}
	out := make([]waitingRow, len(waiting))
	for i, d := range waiting {
		out[i] = waitingRow{
			Row: rows[i], Why: whyAsked(d.Why(), d.Preview.People), Until: local(d.ExpiresAt, v.Zone), Price: d.Preview.Price,
			Paused: paused[d.CredentialID], Changed: d.Changed,
		}
		if out[i].Import, err = v.importOf(d.Preview.Import); err != nil {
			return nil, err
		}
		out[i].ID, out[i].More = d.ID, d.Preview.More
		for j := range out[i].Objects {
			out[i].Objects[j].Did = "would be " + out[i].Objects[j].Did
		}
	}
	return out, nil
}

// addCards adds what devices propose.
func (v *request) addCards(content *decideContent) error {
	waiting, decided, err := dav.ListProposals(v.Ctx, v.Data(), maxDecided)
	if err != nil {
		return err
	}
	content.Cards = make([]cardRow, len(waiting))
	changes := make([]history.Change, len(waiting))
	for i, p := range waiting {
		changes[i], err = p.Preview(v.Ctx, v.Data(), v.Principal)
		if wrong, ok := errors.AsType[*fault.Error](err); ok && wrong.Code == fault.Invalid {
			content.Cards[i].Wrong = wrong.Message
		} else if err != nil {
			return err
		}
	}
	rows, err := v.rows(changes, maxEffects, wholeText)
	if err != nil {
		return err
	}
	for i, p := range waiting {
		content.Cards[i].Row = rows[i]
		content.Cards[i].ID = p.ID
		for j := range rows[i].Objects {
			rows[i].Objects[j].Did = "would be " + rows[i].Objects[j].Did
		}
	}
	var made []string
	for _, p := range decided {
		made = append(made, p.ChangeID)
	}
	changes, err = changesByID(v.Ctx, v.Data(), slices.DeleteFunc(made, func(id string) bool { return id == "" }))
	if err != nil {
		return err
	}
	if rows, err = v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), changes); err != nil {
		return err
	}
	for _, p := range decided {
		row := decidedRow{Who: nameOf(p.DeviceID, p.DeviceName), Device: true, At: local(p.DecidedAt, v.Zone), Outcome: "Approved and done"}
		if at := slices.IndexFunc(rows, func(r Row) bool { return r.ID == p.ChangeID }); at >= 0 {
			row.Change = rows[at]
		}
		if p.State == dav.Refused {
			would, err := p.Preview(v.Ctx, v.Data(), v.Principal)
			if err != nil && !fault.Is(err, fault.Invalid) {
				return err
			}
			row.Outcome, row.What, row.Refused = "Refused", v.Format().Summary(would.Summary), p.ID
		}
		content.Last = append(content.Last, row)
	}
	slices.SortStableFunc(content.Last, func(a, b decidedRow) int { return b.At.Compare(a.At) })
	content.Last = content.Last[:min(len(content.Last), maxDecided)]
	return nil
}

// decideCard approves or refuses the card of a device.
func (v *request) decideCard(proposalID string, approve bool) error {
	notice := "card-refused"
	ctx := v.Ctx
	if approve {
		notice = decision.Approved
	} else {
		ctx = db.WithoutQuota(ctx)
	}
	err := v.Data().Write(ctx, db.Actor{Tool: decideTool}, func(ctx context.Context, tx *db.Tx) error {
		if !approve {
			return dav.Refuse(ctx, tx, proposalID)
		}
		_, err := dav.Approve(ctx, tx, v.Principal, proposalID)
		return err
	})
	if fault.Is(err, fault.Conflict) {
		notice = "decide-late"
	} else if err != nil {
		return err
	}
	return v.RedirectDone(v.To(page.PathDecide), notice)
}

// whyAsked names the acts of a call that the member wants to approve.
func whyAsked(acts []string, people int) string {
	words := map[string]string{
		catalog.ActDelete: "deletions", catalog.ActMerge: "merges", catalog.ActImport: "imports", catalog.ActBulk: fmt.Sprintf("changes of many people, here %d", people),
	}
	var parts []string
	for _, act := range acts {
		parts = append(parts, words[act])
	}
	return strings.Join(parts, " and ")
}

func (v *request) decidedRows(last []decision.Decision) ([]decidedRow, error) {
	var ids []string
	for _, d := range last {
		if d.ChangeID != "" {
			ids = append(ids, d.ChangeID)
		}
	}
	changes, err := changesByID(v.Ctx, v.Data(), ids)
	if err != nil {
		return nil, err
	}
	rows, err := v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), changes)
	if err != nil {
		return nil, err
	}
	made := map[string]Row{}
	for _, r := range rows {
		made[r.ID] = r
	}
	out := make([]decidedRow, len(last))
	for i, d := range last {
		at := d.DecidedAt
		if at.IsZero() {
			at = d.ExpiresAt
		}
		out[i] = decidedRow{
			Who: nameOf(d.CredentialID, d.CredentialName), Tool: v.toolTitle(d.Tool), At: local(at, v.Zone), Outcome: outcomeText(&d), Change: made[d.ChangeID],
		}
	}
	return out, nil
}

// outcomeText says what became of a decision.
func outcomeText(d *decision.Decision) string {
	switch d.Outcome() {
	case decision.Approved:
		return "Approved, and not done yet"
	case decision.Done:
		return "Approved and done"
	case decision.Failed:
		if d.JobError != "" {
			return "Approved, but not done: " + d.JobError
		}
		return "Approved, but not done"
	case decision.Refused:
		return "Refused"
	case decision.Cancelled:
		return "Cancelled, and not done"
	}
	return "Expired, and not done"
}

func (v *request) approve() error {
	if given := v.R.PostForm.Get(decisionParameter); id.Valid(id.Proposal, given) {
		return v.decideCard(given, true)
	}
	d, err := v.decision()
	if err != nil {
		return err
	}
	agent, err := oauth.Credential(v.Ctx, v.Store, d.CredentialID)
	if err == nil && agent.Credential.Paused {
		return v.RedirectDone(v.To(page.PathDecide), "decide-paused")
	}
	if err != nil && !fault.Is(err, fault.NotFound) { // without access, the job tells that it was not done
		return err
	}
	return v.decide(d, true, "approved")
}

func (v *request) refuse() error {
	if given := v.R.PostForm.Get(decisionParameter); id.Valid(id.Proposal, given) {
		return v.decideCard(given, false)
	}
	d, err := v.decision()
	if err != nil {
		return err
	}
	return v.decide(d, false, "refused")
}

// decision returns the decision of a form. Another member's is fault.NotFound.
func (v *request) decision() (*decision.Decision, error) {
	given := v.R.PostForm.Get(decisionParameter)
	if !id.Valid(id.Decision, given) {
		return nil, fault.New(fault.NotFound, "there is no such decision")
	}
	return decision.Get(v.Ctx, v.Data(), given)
}

// decide makes a decision, and leads to its notice. If it was made already, or has expired, it
// changes nothing and says so.
func (v *request) decide(d *decision.Decision, approve bool, notice string) error {
	err := v.Data().Write(db.WithoutQuota(v.Ctx), db.Actor{Tool: decideTool}, func(ctx context.Context, tx *db.Tx) error {
		if _, err := decision.Decide(ctx, tx, d.ID, approve); err != nil {
			return err
		}
		db.OnCommit(ctx, v.Wake)
		return nil
	})
	if fault.Is(err, fault.Conflict) {
		notice = "decide-late"
	} else if err != nil {
		return err
	}
	return v.RedirectDone(v.To(page.PathDecide), notice)
}
