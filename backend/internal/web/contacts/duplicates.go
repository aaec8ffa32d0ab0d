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

// pairRow is two people who may be one. First is the one with more data, or the one who stays.
type pairRow struct {
	First, Second *connectionsv1.Connection
	Reasons       string
	// Parts are what is known about the two people.
	Parts []pairFact
}

// pairFact is what is known about two people. Name is the input of the choice between them; empty if
// there is nothing to choose.
type pairFact struct {
	Name, Label, First, Second string
	// Both offers to keep both, in words; empty if only one can stay.
	Both string
	// Noted is set if the first value stays, and a note keeps the second one.
	Noted bool
}

// Same reports whether both people have the same.
func (f pairFact) Same() bool { return f.First == f.Second }

// The values of a choice; any other value keeps the first.
const (
	chooseSecond = "second"
	chooseBoth   = "both"
)

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
			rows = append(rows, pairRow{First: first, Second: second, Reasons: strings.Join(pair.Reasons, ", "), Parts: v.partsOf(found[pair.First.ID], found[pair.Second.ID], first, second)})
		}
	}
	return rows, nil
}

// partsOf returns what is known about the two people: what they differ in, with a choice, in its place
// among the rest.
func (v *request) partsOf(a, b *people.Connection, first, second *connectionsv1.Connection) []pairFact {
	var facts []pairFact
	add := func(label string) *pairFact {
		for i := range facts {
			if facts[i].Label == label {
				return &facts[i]
			}
		}
		facts = append(facts, pairFact{Label: label})
		return &facts[len(facts)-1]
	}
	for _, row := range v.knownRows(a, first) {
		add(row[0]).First = row[1]
	}
	for _, row := range v.knownRows(b, second) {
		add(row[0]).Second = row[1]
	}
	for _, c := range a.MergeConflicts(b) {
		field, chosen := c.Choice()
		if !chosen {
			facts = append(facts, pairFact{Label: c.Label(), First: c.Kept, Second: c.Dropped, Noted: true})
			continue
		}
		fact := add(field.Label)
		fact.Name, fact.First, fact.Second = field.Name, v.inWords(field.Name, c.Kept), v.inWords(field.Name, c.Dropped)
		if field.Both {
			fact.Both = map[bool]string{true: "Keep both: the second one becomes a nickname", false: "Keep both"}[field.Name == "name"]
		}
	}
	return slices.DeleteFunc(facts, func(f pairFact) bool { return f.First == "" && f.Second == "" })
}

// inWords returns a value of a field as pages show it.
func (v *request) inWords(field, value string) string {
	switch field {
	case "met_on", "deceased_on", "snoozed_until", people.DateBirthday:
		return v.Format().PartialDay(value)
	case "cadence_days":
		days, _ := strconv.Atoi(value) // "" for none
		return cadenceWords(days)
	}
	return value
}

// knownRows returns what is known about a person: labels and texts. Labels that everybody has are first
// and in the same order for each person, also without a text.
func (v *request) knownRows(c *people.Connection, m *connectionsv1.Connection) (rows [][2]string) {
	add := func(label string, values ...string) {
		rows = append(rows, [2]string{label, strings.Join(values, "\n")})
	}
	add("Name", c.Name)
	add("Nickname", c.Nickname)
	add("Place", c.Location)
	var positions []string
	for _, p := range c.Positions {
		title := strings.Join(slices.DeleteFunc([]string{p.Title, p.Organization}, func(s string) bool { return s == "" }), ", ")
		positions = append(positions, withPeriod(title, v.Format().PartialDay(p.StartedOn), v.Format().PartialDay(p.EndedOn)))
	}
	add("Positions", positions...)
	add("E-mail addresses", withNotes(labelled(m, m.GetEmails(), nil))...)
	add("Phone numbers", withNotes(labelled(m, m.GetPhones(), nil))...)
	add("Links", withNotes(labelled(m, m.GetUrls(), nil))...)
	add("How you met", c.MetHow)
	add("When you met", v.inWords("met_on", c.MetOn))
	add("Died", v.inWords("deceased_on", c.DeceasedOn))
	add("Days between contacts", v.inWords("cadence_days", strconv.Itoa(c.CadenceDays)))
	add("Tags", strings.Join(c.Tags, ", "))
	add("Groups", strings.Join(c.Groups, ", "))
	add("About", c.Bio)
	for _, list := range [][]partRow{accountRows(m), addressRows(m), dateRows(v.Format(), m), v.relationRows(m), customFieldRows(m), namePartRows(m)} {
		for _, row := range list {
			if i := slices.IndexFunc(rows, func(r [2]string) bool { return r[0] == row.Label }); i >= 0 {
				rows[i][1] += "\n" + strings.Join(withNotes(row.Values), "\n")
				continue
			}
			add(row.Label, withNotes(row.Values)...)
		}
	}
	return rows
}

// withNotes returns the texts of values, with their notes in parentheses.
func withNotes(values []contactLink) []string {
	var out []string
	for _, value := range values {
		if value.Note != "" {
			value.Text = strings.TrimSpace(value.Text + " (" + value.Note + ")")
		}
		out = append(out, value.Text)
	}
	return out
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
		var done people.Merged
		done, err = v.mergeWith(first, second, false)
		changeID = done.ChangeID
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
