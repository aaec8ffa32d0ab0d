package contacts

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// actField is the name of the buttons that say what to do.
const actField = "act"

// forms are the forms of the page of a person, by the last part of their address.
func (v *request) forms() map[string]func() error {
	return map[string]func() error{
		"edit": v.editSection, barNote: v.addNote, barLog: v.logInteraction, barRemind: v.addReminder, "entry": v.actOnEntry, "entry-edit": v.editEntry,
		"reminder": v.actOnReminder, "reminder-edit": v.editReminder, "act": v.actOnPerson, "link": v.link, "unlink": v.unlink, "merge": v.merge, "photo-remove": v.removePhoto,
	}
}

// showFormOf leads from the address of a form, typed or reloaded, to the page of the person with the
// form open.
func (v *request) showFormOf() error {
	form, to := v.R.PathValue("form"), v.path()
	if _, ok := v.forms()[form]; !ok {
		return noSuchThing()
	}
	switch form {
	case "edit", "link":
		name := sectionName
		if form == "link" {
			name = sectionRelations
		} else if s, ok := sectionOf(v.R.URL.Query().Get("section")); ok {
			name = s.name
		}
		to += "?edit=" + name + "#edit-" + name
	case barNote, barLog, barRemind:
		to += "#bar-" + form
	}
	return v.Redirect(to)
}

// act answers a form of the page of a person.
func (v *request) act() error {
	handle, ok := v.forms()[v.R.PathValue("form")]
	if !ok {
		return noSuchThing()
	}
	if err := v.checkedID(); err != nil {
		return err
	}
	err := handle()
	if fault.Is(err, fault.Conflict) {
		return &page.Refusal{
			Status: http.StatusConflict, Title: "This has changed in the meantime",
			Text: "Nothing was written. Look at the page again: the person may be archived or merged, or the reminder done.", Next: page.Link{Path: v.path(), Title: "Back to the person"},
		}
	}
	return v.showBinned(http.StatusConflict, err)
}

// path returns the address of the page of the person.
func (v *request) path() string {
	return v.To(page.PathPeople + "/" + url.PathEscape(v.R.PathValue("id")))
}

// shown returns the address of the page of the person, with the part of the timeline that was
// shown.
func (v *request) shown() string { return page.Address(v.path(), shownTimeline(v.R.URL.Query())) }

// done goes back to the page of the person and says what was done. A form that changed
// nothing has no change, and no notice.
func (v *request) done(notice, changeID string) error {
	if changeID == "" {
		return v.Redirect(v.shown())
	}
	return v.RedirectUndoable(v.shown(), notice, changeID)
}

// actOnPerson stars, archives or deletes a person, or takes that back.
func (v *request) actOnPerson() error {
	switch act := v.R.PostForm.Get(actField); act {
	case "star", "unstar":
		return press(v, act+"red", &connectionsv1.UpdateConnectionRequest{Id: v.personID(), Starred: new(act == "star")}, v.People.UpdateConnection)
	case "archive", "unarchive":
		req := &connectionsv1.ArchiveConnectionsRequest{Ids: []string{v.personID()}, Archived: new(act == "archive")}
		return press(v, act+"d", req, v.People.ArchiveConnections)
	case "delete":
		return v.deletePerson()
	}
	return noSuchThing()
}

// deletePerson moves the person to the bin. The page shows whom: no name has to be typed.
func (v *request) deletePerson() error {
	p, err := v.person()
	if err != nil {
		return err
	}
	req := &connectionsv1.DeleteConnectionRequest{Id: p.GetConnection().GetId(), ConfirmName: p.GetConnection().GetName()}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.DeleteConnection)
	if err == nil && len(wrong) > 0 {
		err = fault.New(fault.Conflict, "the person was renamed")
	}
	if err != nil {
		return err
	}
	return v.RedirectUndoable(v.To(page.PathPeople), "deleted", res.GetChangeId())
}

// linkFields are the inputs that relate the person to another one.
func linkFields() []FormField {
	return []FormField{
		textField(withField+"_person", "Person", "Name or e-mail address of somebody you know."),
		{Field: page.Field{Name: "named", Label: "They are not in Kith: keep only the name"}, Check: true},
		choiceField("type", "What they are", page.Option{Value: "spouse", Label: "Spouse"}, page.Option{Value: "parent", Label: "Parent"}, page.Option{Value: "child", Label: "Child"},
			page.Option{Value: "sibling", Label: "Sibling"}, page.Option{Value: "colleague", Label: "Colleague"}, page.Option{Value: "manager", Label: "Manager"},
			page.Option{Value: "introduced_by", Label: "Introduced by"}, page.Option{Value: "friend", Label: "Friend"}, page.Option{Value: "other", Label: "Other"}).with("friend"),
		textField("word", "Or in your own word", "Such as godmother."),
	}
}

// link relates the person to another one.
func (v *request) link() error {
	form := v.typedForm(sectionRelations, linkFields())
	values := valuesOf(form.Fields)
	person := form.Fields[0].Name
	req := &connectionsv1.LinkConnectionsRequest{FromId: v.personID(), Type: cmp.Or(values["word"], values["type"])}
	if values["named"] == ticked {
		req.Name = new(values[person])
	} else {
		others, problem, err := v.resolve(values[person])
		if problem == "" && len(others) != 1 {
			problem = "Enter one person."
		}
		if err != nil || problem != "" {
			return v.answer(form, []page.FieldError{{Name: person, Message: problem}}, "", "", err)
		}
		req.ToId = &others[0]
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.LinkConnections)
	for i := range wrong {
		switch {
		case wrong[i].Name == "type" && values["word"] != "":
			wrong[i].Name = "word"
		case wrong[i].Name == "name":
			wrong[i].Name = person
		case wrong[i].Name != "type":
			wrong[i] = page.FieldError{Name: person, Message: "Enter another person."}
		}
	}
	return v.answer(form, wrong, "linked", res.GetChangeId(), err)
}

// unlink ends a relation.
func (v *request) unlink() error {
	posted := v.R.PostForm
	req := &connectionsv1.LinkConnectionsRequest{
		FromId: v.personID(), ToId: optional(posted.Get("other")), Name: optional(posted.Get("name")), Type: posted.Get("type"), Remove: new(true),
	}
	return press(v, "unlinked", req, v.People.LinkConnections)
}

// mergeContent is the content of the page on which two records of a person are merged.
type mergeContent struct {
	page.Avatars

	// Path is the address of the person who stays, Self of this page.
	Path, Self, Name string
	Query            string
	// Found are the people who may be merged.
	Found []mergeRow
	// Other is the person to be merged; empty until one is chosen.
	Other, OtherName string
	// Swap is the address of the page on which the other person stays.
	Swap  string
	After *connectionsv1.Connection
	// Differ are the single values on which the two differ.
	Differ []pairFact
	Moved  int32
}

// mergeRow is a person who may be merged, with the reasons if they may be the same.
type mergeRow struct {
	ID, Path, Name, Headline, Reasons string
}

const mergeParameter = "merge"

// mergeChoices is how many people the page offers.
const mergeChoices = 10

// showMerge shows the people to merge with, or what merging one would do. Nothing is
// written.
func (v *request) showMerge() error {
	p, err := v.person()
	if err != nil {
		return v.followMerge(err)
	}
	c := p.GetConnection()
	content := mergeContent{Path: v.path(), Self: v.path() + "/merge", Name: c.GetName(), Query: v.R.URL.Query().Get("q")}
	if other := v.R.URL.Query().Get(mergeParameter); other != "" {
		if err := v.previewMerge(&content, c.GetId(), other); err != nil {
			return err
		}
		return v.Render(http.StatusOK, "person-merge", page.Page{Title: "Merge " + c.GetName(), Area: page.PathPeople, Content: content})
	}
	wrong, err := v.mergeCandidates(&content, c)
	if err != nil {
		return err
	}
	if content.Avatars, err = v.Avatars(people.IDs(content.Found, func(r mergeRow) string { return r.ID })); err != nil {
		return err
	}
	return v.Render(page.StatusOf(wrong), "person-merge", page.Page{Title: "Merge " + c.GetName(), Area: page.PathPeople, Errors: wrong, Content: content})
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

// previewMerge adds what a merge would do: a dry run.
func (v *request) previewMerge(content *mergeContent, into, from string) error {
	if !id.Valid(id.Connection, from) || from == into {
		return noSuchThing()
	}
	other, err := v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Id: &from})
	if err != nil {
		return err
	}
	res, err := v.mergeWith(into, from, true)
	if err != nil {
		return err
	}
	content.Other, content.OtherName = from, other.GetConnection().GetName()
	content.Swap = page.Address(v.To(page.PathPeople+"/"+from+"/merge"), url.Values{mergeParameter: {into}})
	content.After, content.Moved = res.GetConnection(), res.GetMoved()
	for _, c := range res.GetConflicts() {
		fact := pairFact{Label: c.GetField(), First: c.GetKept(), Second: c.GetDropped()}
		for _, f := range people.MergeFields() {
			if f.Name == c.GetField() {
				fact.Name, fact.Label = f.Name, f.Label
			}
		}
		content.Differ = append(content.Differ, fact)
	}
	return nil
}

// mergeWith merges one person into another. The form names the fields of which the second one's
// value stays.
func (v *request) mergeWith(into, from string, dryRun bool) (*connectionsv1.MergeConnectionsResponse, error) {
	req := &connectionsv1.MergeConnectionsRequest{IntoId: &into, FromIds: []string{from}, DryRun: &dryRun}
	for _, f := range people.MergeFields() {
		if v.R.PostForm.Get(f.Name) == "second" {
			req.Take = append(req.Take, f.Name)
		}
	}
	res, wrong, err := page.Write(v.Member, pageName, req, v.People.MergeConnections)
	if err == nil && len(wrong) > 0 {
		err = noSuchThing()
	}
	return res, err
}

// merge merges another person into this one.
func (v *request) merge() error {
	res, err := v.mergeWith(v.personID(), v.R.PostForm.Get("other"), false)
	return v.acted(nil, "merged", res.GetChangeId(), err)
}
