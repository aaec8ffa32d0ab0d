package contacts

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

const pathDuplicates = page.PathPeople + "/duplicates"

// pairsOnPage is how many pairs one page shows: get_connection reads their people at once.
const pairsOnPage = 10

// maxPairPage limits the number of the page.
const maxPairPage = 50

// actDistinct is the act that records that a pair is not the same person.
const actDistinct = "distinct"

// duplicatesContent is the content of the page that lists pairs who may be one person.
type duplicatesContent struct {
	page.Avatars

	Self, List     string
	Page           int
	Pairs          []pairRow
	Next, Previous string
}

// pairRow is two people who may be one. First is the one with more data.
type pairRow struct {
	First, Second *connectionsv1.Connection
	Reasons       string
	// Parts are what is known about the two people.
	Parts []pairFact
}

// pairFact is what is known about two people. Name is the input of the choice between them;
// empty if there is nothing to choose, since both stay or they are the same.
type pairFact struct{ Name, Label, First, Second string }

func (v *request) showDuplicates() error {
	number := 1
	if given := v.R.URL.Query().Get("page"); given != "" {
		var err error
		if number, err = strconv.Atoi(given); err != nil || number < 1 || number > maxPairPage {
			return fault.New(fault.Invalid, "there is no such page")
		}
	}
	content := duplicatesContent{Self: v.To(pathDuplicates), List: v.To(page.PathPeople), Page: number}
	pairs, more, err := people.FindDuplicates(v.Ctx, v.Data(), people.Query{MinScore: people.DefaultMinScore, Limit: number * pairsOnPage})
	if err != nil {
		return err
	}
	pairs = pairs[min(len(pairs), (number-1)*pairsOnPage):]
	if content.Pairs, err = v.pairRows(pairs); err != nil {
		return err
	}
	if content.Avatars, err = v.Avatars(idsOf(pairs)); err != nil {
		return err
	}
	address := func(n int) string { return page.Address(content.Self, url.Values{"page": {strconv.Itoa(n)}}) }
	if more && number < maxPairPage {
		content.Next = address(number + 1)
	}
	if number > 1 {
		content.Previous = address(number - 1)
	}
	return v.Render(http.StatusOK, "people-duplicates", page.Page{Title: "Duplicates", Area: page.PathPeople, Content: content})
}

// idsOf returns the ids of the people of pairs.
func idsOf(pairs []people.Pair) []string {
	var ids []string
	for _, pair := range pairs {
		ids = append(ids, pair.First.ID, pair.Second.ID)
	}
	return distinct(ids)
}

// pairRows returns the pairs with what is known about their people. It leaves out a pair if one of
// the two was deleted meanwhile.
func (v *request) pairRows(pairs []people.Pair) ([]pairRow, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	found, err := people.GetConnections(v.Ctx, v.Data(), idsOf(pairs))
	if err != nil {
		return nil, err
	}
	var list []people.Connection
	for _, c := range found {
		list = append(list, *c)
	}
	known, err := people.WholeConnections(v.Ctx, v.Data(), list)
	if err != nil {
		return nil, err
	}
	byID := map[string]*connectionsv1.Connection{}
	for _, c := range known {
		byID[c.GetId()] = c
	}
	var rows []pairRow
	for _, pair := range pairs {
		first, second := byID[pair.First.ID], byID[pair.Second.ID]
		if first != nil && second != nil {
			rows = append(rows, pairRow{First: first, Second: second, Reasons: strings.Join(pair.Reasons, ", "), Parts: partsOf(first, second)})
		}
	}
	return rows, nil
}

// valueOf returns the value of one of people.MergeFields; empty for none.
func valueOf(c *connectionsv1.Connection, name string) string {
	switch name {
	case people.DateBirthday:
		for _, d := range c.GetImportantDates() {
			if d.GetKind() == people.DateBirthday {
				return d.GetDate()
			}
		}
		return ""
	case "cadence_days":
		if c.GetCadenceDays() == 0 {
			return ""
		}
		return strconv.Itoa(int(c.GetCadenceDays()))
	}
	m := c.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByTextName(name)).String()
}

// partsOf returns what is known about the two people.
func partsOf(first, second *connectionsv1.Connection) []pairFact {
	var facts []pairFact
	for _, f := range people.MergeFields() {
		fact := pairFact{Label: f.Label, First: valueOf(first, f.Name), Second: valueOf(second, f.Name)}
		if fact.First != "" && fact.Second != "" && fact.First != fact.Second {
			fact.Name = f.Name
		}
		facts = append(facts, fact)
	}
	facts = append(facts, pairFact{Label: "About", First: first.GetBio(), Second: second.GetBio()})
	list := func(label string, of func(*connectionsv1.Connection) []string) {
		facts = append(facts, pairFact{Label: label, First: strings.Join(of(first), ", "), Second: strings.Join(of(second), ", ")})
	}
	list("E-mail addresses", (*connectionsv1.Connection).GetEmails)
	list("Phone numbers", (*connectionsv1.Connection).GetPhones)
	list("Links", (*connectionsv1.Connection).GetUrls)
	list("Tags", (*connectionsv1.Connection).GetTags)
	list("Groups", (*connectionsv1.Connection).GetGroups)
	return slices.DeleteFunc(facts, func(f pairFact) bool { return f.First == "" && f.Second == "" })
}

// actOnPair merges the two people of a pair. With the act distinct, it records that they are not
// the same.
func (v *request) actOnPair() error {
	first, second := v.R.PostForm.Get("first"), v.R.PostForm.Get("second")
	if !id.Valid(id.Connection, first) || !id.Valid(id.Connection, second) || first == second {
		return noSuchThing()
	}
	notice, changeID := "people-merged", ""
	var err error
	if v.R.PostForm.Get("act") == actDistinct {
		notice = "people-distinct"
		changeID, err = page.Change(v.Member, pageName, func(ctx context.Context, tx *db.Tx) (string, error) {
			return people.Distinguish(ctx, tx, first, second)
		})
	} else {
		var done *connectionsv1.MergeConnectionsResponse
		done, err = v.mergeWith(first, second, false)
		changeID = done.GetChangeId()
	}
	if fault.Is(err, fault.Conflict) {
		return &page.Refusal{
			Status: http.StatusConflict, Title: "This has changed in the meantime", Text: "Nothing was done: one of the two was merged or archived already.",
			Next: page.Link{Path: v.To(pathDuplicates), Title: "Back to Duplicates"},
		}
	}
	if err != nil {
		return err
	}
	return v.RedirectUndoable(v.To(pathDuplicates), notice, changeID)
}
