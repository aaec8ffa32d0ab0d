package contacts

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/fault"
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
		namesField(withField+"_person", "Person", "Name or e-mail address of somebody you know."),
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
