package contacts

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// The parameters of the page that adds a person, beside the fields.
const (
	lineParameter = "line"
	// textParameter is the line under the name by which other programs share a text.
	textParameter  = "text"
	addedParameter = "added"
)

// choiceName is the input that says what to do if the person may exist already. Its value is
// addAnyway, or the id of the person to add to.
const (
	choiceName = "choice"
	addAnyway  = "new"
)

// maxLine limits the line about a person, in characters. The rest is cut off.
const maxLine = 2000

// captureContent is the content of the page that adds a person.
type captureContent struct {
	Self, Line string
	// LineWrong is the error of the line, or of a file that was shared in its place.
	LineWrong string
	Form      Form
	// Act is the form of a contact, a reminder or a note that the line asks for; nil if it is about a person to add.
	Act *Form
	// Found are the people whom the form may mean. Chosen is the one to add to, or addAnyway; Wrong
	// is the error of the choice.
	Found         []foundPerson
	Chosen, Wrong string
	// Added is the person who was added just now.
	Added *foundPerson
	// Shared is set if another app shared what is in the form.
	Shared *sharedContent
}

// foundPerson is a person who may be the one in the form.
type foundPerson struct{ ID, Path, Name, Headline, By string }

func captureFields() []FormField {
	tags := linesField("tags", "Tags", "One per line.")
	return []FormField{
		textField("name", "Name", ""), textField("title", "Title", ""), textField("organization", "Organisation", ""), textField("location", "Place", ""),
		textField("met_how", "How you met", ""), linesField("emails", "E-mail addresses", "One per line."), linesField("phones", "Phone numbers", "One per line, with the country code."),
		linesField("urls", "Links", "One per line, beginning with https://."), tags, areaField("bio", "Note", "Shown as About on their page.", 3),
	}
}

// showCapture shows the form with what the line says. Fields in the address come before the
// line. Nothing is written.
func (v *request) showCapture() error {
	given := v.R.URL.Query()
	line := given.Get(lineParameter)
	if line == "" {
		line = given.Get(textParameter)
	}
	content, err := v.filledIn(line, given)
	if err != nil {
		return err
	}
	if added := given.Get(addedParameter); id.Valid(id.Connection, added) {
		names, err := people.ListNames(v.Ctx, v.Data(), []string{added})
		if err != nil {
			return err
		}
		if name := names[added]; name != "" {
			content.Added = &foundPerson{Path: v.To(page.PathPeople + "/" + added), Name: name}
		}
	}
	return v.renderCapture(http.StatusOK, content, nil)
}

// filledIn returns the form with what the line says, and the people whom it may mean. Fields that
// are given take precedence over the line.
func (v *request) filledIn(line string, given url.Values) (content captureContent, err error) {
	line = text.Truncate(line, maxLine)
	content = captureContent{Line: text.Line(line), Form: Form{Fields: captureFields()}}
	parsed := parseLine(line)
	values := map[string]string{
		"name": parsed.Name, "title": parsed.Title, "organization": parsed.Organization, "location": parsed.Location, "met_how": parsed.MetHow, "bio": parsed.Note,
		"emails": strings.Join(parsed.Emails, "\n"), "phones": strings.Join(parsed.Phones, "\n"), "urls": strings.Join(parsed.URLs, "\n"), "tags": strings.Join(parsed.Tags, "\n"),
	}
	for i, field := range content.Form.Fields {
		if given.Has(field.Name) {
			values[field.Name] = given.Get(field.Name)
		}
		content.Form.Fields[i] = field.with(values[field.Name])
	}
	if a, ok := v.parseAct(content.Line); ok {
		form, err := v.actForm(a)
		content.Act = &form
		return content, err
	}
	content.Found, err = v.lookAlikes(content.Form)
	return content, err
}

func (v *request) renderCapture(status int, content captureContent, wrong []page.FieldError) error {
	content.Self = v.To(page.PathAdd)
	script := page.ScriptCapture
	if content.Shared != nil && content.Shared.Card {
		script = "" // there is no line to follow
	}
	return v.Render(status, "people-new", page.Page{Title: content.Heading(), Area: page.PathPeople, Errors: wrong, Script: script, Content: content})
}

// Heading is the title of the page, by what the line asks for.
func (c captureContent) Heading() string {
	if c.Act == nil {
		return "Add a person"
	}
	return map[string]string{barLog: "Log a contact", barRemind: "Set a reminder", barNote: "Add a note"}[c.Act.Name]
}

// lookAlikes returns the people whom the name, the e-mail addresses and the phone numbers of
// a form may mean.
func (v *request) lookAlikes(form Form) ([]foundPerson, error) {
	values := valuesOf(form.Fields)
	var entries []string
	for _, entry := range append([]string{values["name"]}, append(lines(values["emails"]), lines(values["phones"])...)...) {
		if entry != "" && len(entries) < maxEntries {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	res, wrong, err := page.Read(v.Member, &connectionsv1.ResolvePeopleRequest{Entries: entries}, v.Insights.ResolvePeople)
	if err != nil || len(wrong) > 0 {
		return nil, err // such as a name that is too long: the form says so when it is saved
	}
	var found []foundPerson
	for _, e := range res.GetEntries() {
		for _, p := range e.GetPeople() {
			if !slices.ContainsFunc(found, func(f foundPerson) bool { return f.ID == p.GetId() }) {
				found = append(found, v.found(p.GetId(), p.GetName(), p.GetHeadline(), p.GetMatchedBy()))
			}
		}
	}
	return found, nil
}

// maxEntries is how many names and addresses are looked up.
const maxEntries = 50

func (v *request) found(connectionID, name, headline, by string) foundPerson {
	return foundPerson{ID: connectionID, Path: v.To(page.PathPeople + "/" + connectionID), Name: name, Headline: headline, By: map[string]string{"email": "e-mail address", "phone": "phone number"}[by]}
}

// capture adds the person of the form, or adds what is new in it to the person who was
// chosen. If the person may exist already, nothing is written without a choice.
func (v *request) capture() error {
	if kind := v.R.PostForm.Get(actField); kind != "" {
		return v.saveAct(kind)
	}
	content := captureContent{Line: v.Line(lineParameter), Chosen: v.R.PostForm.Get(choiceName), Form: v.typedForm("", captureFields())}
	if content.Chosen != "" && content.Chosen != addAnyway {
		return v.addTo(content)
	}
	var err error
	if content.Found, err = v.lookAlikes(content.Form); err != nil {
		return err
	}
	values := valuesOf(content.Form.Fields)
	if values["name"] == "" && values["emails"] == "" && values["urls"] == "" {
		return v.captureWrong(content, []page.FieldError{{Name: "name", Message: "Enter a name, an e-mail address or a link."}})
	}
	req := &connectionsv1.CreateConnectionRequest{}
	page.Fill(req, parametersOf(content.Form))
	if content.Chosen == addAnyway {
		req.OnDuplicate = new(people.OnDuplicateCreate)
	}
	if len(content.Found) > 0 && content.Chosen == "" {
		wrong, err := v.Check(req)
		if err != nil {
			return err
		}
		return v.askChoice(content, wrong)
	}
	made, wrong, err := page.Write(v.Member, pageName, req, createByHand)
	switch {
	case err != nil:
		return err
	case len(wrong) > 0:
		return v.captureWrong(content, wrong)
	case made.ChangeID == "": // such as one with the same link
		content.Found = []foundPerson{v.found(made.Connection.ID, made.Connection.Name, made.Connection.CurrentPosition().Headline(), "")}
		return v.askChoice(content, nil)
	}
	return v.RedirectUndoable(page.Address(v.To(page.PathAdd), url.Values{addedParameter: {made.Connection.ID}}), "person-added", made.ChangeID)
}

// askChoice shows the form again, with an error at the choice.
func (v *request) askChoice(content captureContent, wrong []page.FieldError) error {
	content.Wrong = "Choose whether this is a new person."
	return v.captureWrong(content, append(wrong, page.FieldError{Name: choiceName, Message: content.Wrong}))
}

func createByHand(ctx context.Context, tx *db.Tx, req *connectionsv1.CreateConnectionRequest) (people.Written, error) {
	return people.Create(ctx, tx, people.DraftOf(req, people.SourceManual))
}

// parametersOf returns the values of a form as the parameters of a request, with one for
// each line of a list.
func parametersOf(f Form) url.Values {
	out := url.Values{}
	for _, field := range f.Fields {
		if field.Lines {
			out[field.Name] = lines(field.Value)
		} else {
			out.Set(field.Name, field.Value)
		}
	}
	return out
}

// captureWrong shows the form again, with its errors.
func (v *request) captureWrong(content captureContent, wrong []page.FieldError) error {
	content.Form.mark(wrong)
	return v.renderCapture(http.StatusBadRequest, content, content.Form.Errors)
}

// addTo adds what is new in the form to a person. If the person has another text in a field, that
// text stays, and the typed text is appended to their About.
func (v *request) addTo(content captureContent) error {
	if !id.Valid(id.Connection, content.Chosen) {
		return noSuchThing()
	}
	p, err := v.Insights.GetConnection(v.Ctx, &connectionsv1.GetConnectionRequest{Id: &content.Chosen})
	if err != nil {
		return err
	}
	content.Found = []foundPerson{v.found(content.Chosen, p.GetConnection().GetName(), p.GetConnection().GetHeadline(), "")}
	res, wrong, err := page.Write(v.Member, pageName, additions(p.GetConnection(), content.Form), v.People.UpdateConnection)
	switch {
	case fault.Is(err, fault.Conflict):
		content.Wrong = "This person was changed or archived in the meantime. Nothing was saved."
		return v.captureWrong(content, []page.FieldError{{Name: choiceName, Message: content.Wrong}})
	case err != nil:
		return err
	case len(wrong) > 0:
		return v.captureWrong(content, wrong)
	}
	notice := "person-completed"
	if res.GetChangeId() == "" {
		notice = "people-unchanged"
	}
	return v.RedirectUndoable(v.To(page.PathPeople+"/"+content.Chosen), notice, res.GetChangeId())
}

// additions returns the request that adds what is new in a form to a person.
func additions(c *connectionsv1.Connection, f Form) *connectionsv1.UpdateConnectionRequest {
	values := valuesOf(f.Fields)
	req := &connectionsv1.UpdateConnectionRequest{Id: c.GetId(), ExpectedVersion: &c.Version}
	req.AddEmails, req.AddPhones, req.AddUrls, req.AddTags = lines(values["emails"]), lines(values["phones"]), lines(values["urls"]), lines(values["tags"])
	about := []string{c.GetBio()}
	differs := func(label, typed, stored string) {
		if typed != "" && text.Fold(typed) != text.Fold(stored) {
			about = append(about, label+": "+typed)
		}
	}
	differs("Also called", values["name"], c.GetName())
	for _, t := range []struct {
		label, typed, stored string
		to                   **string
	}{{"Place", values["location"], c.GetLocation(), &req.Location}, {"Met", values["met_how"], c.GetMetHow(), &req.MetHow}} {
		if t.stored == "" && t.typed != "" {
			*t.to = &t.typed
		} else {
			differs(t.label, t.typed, t.stored)
		}
	}
	switch same := text.Fold(values["organization"]) == text.Fold(c.GetOrganization()); {
	case values["title"] == "" && values["organization"] == "":
	case c.GetOrganization() == "" && c.GetTitle() == "":
		req.Organization, req.Title = new(values["organization"]), new(values["title"])
	case same && c.GetTitle() == "":
		req.Organization, req.Title = new(c.GetOrganization()), new(values["title"])
	case same || values["organization"] == "":
		differs("Title", values["title"], c.GetTitle())
	default:
		req.AddPositions = []*connectionsv1.Job{{Organization: new(values["organization"]), Title: new(values["title"])}}
	}
	if note := values["bio"]; note != "" && !strings.Contains(c.GetBio(), note) {
		about = append(about, note)
	}
	if len(about) > 1 {
		req.Bio = new(strings.TrimPrefix(strings.Join(about, "\n"), "\n"))
	}
	return req
}
