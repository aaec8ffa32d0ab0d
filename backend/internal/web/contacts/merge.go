package contacts

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// mergeContent is the content of the page on which two records of a person are merged.
type mergeContent struct {
	page.Avatars

	// Path is the address of the person who stays, Self of this page.
	Path, Self, Name string
	Query            string
	// Found are the people who may be merged.
	Found []mergeRow
	// Pair are the person who stays and the one to be merged; nil until one is chosen or suggested.
	Pair *pairRow
	// Swap is the address of the page on which the other person stays, Search that of the other people.
	Swap, Search string
	// Moved is how many entries, reminders and relations move.
	Moved int
}

// mergeRow is a person who may be merged, with the reasons if they may be the same.
type mergeRow struct {
	ID, Path, Name, Headline, Reasons string
}

const (
	mergeParameter  = "merge"
	searchParameter = "q"
)

// mergeChoices is how many people the page offers.
const mergeChoices = 10

// showMerge shows two people side by side, with what merging them would do: the person of the page, and the
// one who was chosen or, unless the address has a search, who is most likely the same. Without one, it
// shows a search. Nothing is written.
func (v *request) showMerge() error {
	p, err := v.person()
	if err != nil {
		return v.followMerge(err)
	}
	c, given := p.GetConnection(), v.R.URL.Query()
	content := mergeContent{Path: v.path(), Self: v.path() + "/merge", Name: c.GetName(), Query: given.Get(searchParameter)}
	content.Search = page.Address(content.Self, url.Values{searchParameter: {""}})
	other, reasons := given.Get(mergeParameter), ""
	var wrong []page.FieldError
	if other == "" {
		if wrong, err = v.mergeCandidates(&content, c); err != nil {
			return err
		}
		if len(content.Found) > 0 && !given.Has(searchParameter) {
			other, reasons = content.Found[0].ID, content.Found[0].Reasons
		}
	}
	shown := page.Page{Title: v.Text("Merge %s", c.GetName()), Area: page.PathPeople, Errors: wrong}
	ids := people.IDs(content.Found, func(r mergeRow) string { return r.ID })
	if other != "" {
		if err := v.previewMerge(&content, c.GetId(), other); err != nil {
			return err
		}
		content.Pair.Reasons, ids = reasons, []string{c.GetId(), other}
	}
	if content.Avatars, err = v.Avatars(ids); err != nil {
		return err
	}
	shown.Content = content
	return v.Render(page.StatusOf(wrong), "person-merge", shown)
}

// mergeCandidates adds the people found by words or, without words, those who may be the
// same person.
func (v *request) mergeCandidates(content *mergeContent, c *connectionsv1.Connection) ([]page.FieldError, error) {
	row := func(otherID, name, headline, reasons string) {
		if otherID != c.GetId() {
			path := page.Address(content.Self, url.Values{mergeParameter: {otherID}})
			content.Found = append(content.Found, mergeRow{otherID, path, name, headline, reasons})
		}
	}
	if text.Line(content.Query) == "" {
		found, err := v.People.FindDuplicates(v.Ctx, &connectionsv1.FindDuplicatesRequest{ConnectionId: new(c.GetId()), MinScore: new(0.4), Limit: new(int32(mergeChoices))})
		for _, pair := range found.GetPairs() {
			other := pair.GetFirst()
			if other.GetId() == c.GetId() {
				other = pair.GetSecond()
			}
			row(other.GetId(), other.GetName(), other.GetHeadline(), strings.Join(pair.GetReasons(), ", "))
		}
		return nil, err
	}
	req := &connectionsv1.SearchConnectionsRequest{Query: &content.Query, Limit: new(int32(mergeChoices))}
	found, wrong, err := page.Read(v.Member, req, v.Search.SearchConnections)
	for _, hit := range found.GetHits() {
		row(hit.GetId(), hit.GetName(), hit.GetHeadline(), "")
	}
	return wrong, err
}

// previewMerge adds the two people, and what a merge would do: a dry run.
func (v *request) previewMerge(content *mergeContent, into, from string) error {
	if !id.Valid(id.Connection, from) || from == into {
		return noSuchThing()
	}
	pairs, err := v.pairRows([]people.Pair{{First: people.Candidate{ID: into}, Second: people.Candidate{ID: from}}})
	if err != nil {
		return err
	}
	if len(pairs) == 0 {
		return noSuchThing()
	}
	done, err := v.mergeWith(into, from, true)
	if err != nil {
		return err
	}
	content.Pair, content.Moved = &pairs[0], done.Moved
	content.Swap = page.Address(v.To(page.PathPeople+"/"+from+"/merge"), url.Values{mergeParameter: {into}})
	return nil
}

// choices returns what the form chose: an input for each field, with the name of the field.
func (v *request) choices() (choose people.MergeChoices) {
	for name := range v.R.PostForm {
		field, known := people.MergeConflict{Field: name}.Choice()
		switch given := v.R.PostForm.Get(name); {
		case known && given == chooseSecond:
			choose.Take = append(choose.Take, name)
		case known && given == chooseBoth && field.Both:
			choose.Both = append(choose.Both, name)
		}
	}
	slices.Sort(choose.Take) // the form is a map
	slices.Sort(choose.Both)
	return choose
}

// mergeWith merges one person into another. The form chooses which values stay.
func (v *request) mergeWith(into, from string, dryRun bool) (people.Merged, error) {
	req := &connectionsv1.MergeConnectionsRequest{IntoId: &into, FromIds: []string{from}, DryRun: &dryRun}
	res, wrong, err := page.Write(v.Member, pageName, req, func(ctx context.Context, tx *db.Tx, _ *connectionsv1.MergeConnectionsRequest) (people.Merged, error) {
		merges := []people.MergeInto{{Into: into, From: []string{from}, MergeChoices: v.choices()}}
		return people.Merge(ctx, tx, merges, dryRun, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
	})
	if err == nil && len(wrong) > 0 {
		err = noSuchThing()
	}
	return res, err
}

// merge merges another person into this one.
func (v *request) merge() error {
	other := v.R.PostForm.Get("other")
	if other == v.personID() {
		return noSuchThing()
	}
	res, err := v.mergeWith(v.personID(), other, false)
	return v.acted(nil, "merged", res.ChangeID, err)
}
