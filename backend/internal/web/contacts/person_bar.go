package contacts

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// The forms of the bar, with which a member adds entries and reminders.
const (
	barNote   = "note"
	barLog    = "log"
	barRemind = "remind"
)

// laterField is the name of the buttons that set a reminder for a day of page.Later.
const laterField = "later"

// withField is the input for other people.
const withField = "with"

// barForms returns the forms of the bar, empty.
func (v *request) barForms() []Form {
	return []Form{{Name: barNote, Fields: noteFields()}, {Name: barLog, Fields: v.logFields()}, {Name: barRemind, Fields: v.remindFields()}}
}

func noteFields() []FormField {
	body := areaField("body", "Note", "", 3)
	body.Required = true
	return []FormField{body, {Field: page.Field{Name: "pinned", Label: "Pin it to the top"}, Check: true}}
}

func (v *request) logFields() []FormField {
	day := dayField("occurred_at", "Day", "").with(v.Today().Format(time.DateOnly))
	day.Required = true
	return []FormField{
		choiceField("kind", "What it was", interactionKinds()...).with("meeting"), day, areaField("summary", "What it was about", "", 2),
		namesField(withField, "Other people", "Names or e-mail addresses, separated by commas."),
	}
}

func interactionKinds() []page.Option {
	return []page.Option{
		{Value: "meeting", Label: "Meeting"}, {Value: "call", Label: "Call"}, {Value: "email", Label: "E-mail"}, {Value: "message", Label: "Message"},
		{Value: "event", Label: "Event"}, {Value: "intro", Label: "Introduction"}, {Value: "other", Label: "Other"},
	}
}

func (v *request) remindFields() []FormField {
	words := textField("text", "What to do", "")
	day := dayField("due_on", "Day", "").with(v.Today().AddDate(0, 0, 7).Format(time.DateOnly))
	words.Required, day.Required = true, true
	return []FormField{words, day, recurrenceField("recurrence").with("none")}
}

func recurrenceField(name string) FormField {
	return choiceField(name, "Repeat", page.Option{Value: "none", Label: "Once"}, page.Option{Value: "weekly", Label: "Every week"}, page.Option{Value: "monthly", Label: "Every month"},
		page.Option{Value: "quarterly", Label: "Every quarter"}, page.Option{Value: "yearly", Label: "Every year"})
}

// typedForm returns a form with what was typed.
func (v *request) typedForm(name string, fields []FormField) Form {
	for i, f := range fields {
		fields[i] = f.typed(v.R.PostForm)
	}
	return Form{Name: name, Fields: fields}
}

func (v *request) addNote() error {
	req := &timelinev1.AddNoteRequest{ConnectionIds: []string{v.personID()}}
	page.Fill(req, v.R.PostForm)
	return send(v, v.typedForm(barNote, noteFields()), "noted", req, v.Timeline.AddNote)
}

func (v *request) logInteraction() error {
	form := v.typedForm(barLog, v.logFields())
	others, problem, err := v.resolve(valuesOf(form.Fields)[withField])
	if err != nil || problem != "" {
		return v.answer(form, []page.FieldError{{Name: withField, Message: problem}}, "", "", err)
	}
	req := &timelinev1.LogInteractionRequest{ConnectionIds: distinct(append([]string{v.personID()}, others...))}
	page.Fill(req, v.R.PostForm)
	return send(v, form, "logged", req, v.Timeline.LogInteraction)
}

func (v *request) addReminder() error {
	req := &remindersv1.CreateReminderRequest{}
	page.Fill(req, v.R.PostForm)
	req.ConnectionIds = []string{v.personID()}
	if day := v.Line(laterField); day != "" {
		req.DueOn = day
	}
	return send(v, v.typedForm(barRemind, v.remindFields()), "reminded", req, v.Reminders.CreateReminder)
}

// send calls the handler of a tool with what a form says, and answers.
func send[Q proto.Message, A interface{ GetChangeId() string }](v *request, form Form, notice string, req Q, handle func(context.Context, *db.Tx, Q) (A, error)) error {
	res, wrong, err := page.Write(v.Member, pageName, req, handle)
	return v.answer(form, wrong, notice, res.GetChangeId(), err)
}

// answer ends the handling of a form: it goes back to the page of the person with a notice,
// or shows the form with its errors.
func (v *request) answer(form Form, wrong []page.FieldError, notice, changeID string, err error) error {
	switch {
	case err != nil:
		return err
	case len(wrong) == 0:
		return v.done(notice, changeID)
	}
	p, err := v.person()
	if err != nil {
		return err
	}
	form.mark(wrong)
	return v.showForm(http.StatusBadRequest, p, form)
}

func distinct(ids []string) []string {
	var out []string
	for _, one := range ids {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// idPattern finds the id of a person, also in the address of their page.
var idPattern = regexp.MustCompile(`\b` + id.Connection + `_` + id.Form + `\b`)

// resolve returns the ids of the people that a text names, by names, e-mail addresses or ids. If a
// name does not mean exactly one person, it returns a message about the first such name.
func (v *request) resolve(typed string) (ids []string, problem string, err error) {
	var entries []string
	for _, entry := range strings.FieldsFunc(typed, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if entry = text.Line(entry); entry == "" {
			continue
		}
		if found := idPattern.FindString(entry); found != "" {
			ids = append(ids, found)
		} else {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return ids, "", nil
	}
	res, wrong, err := page.Read(v.Member, &connectionsv1.ResolvePeopleRequest{Entries: entries}, v.Insights.ResolvePeople)
	if err != nil {
		return nil, "", err
	}
	if len(wrong) > 0 {
		return nil, wrong[0].Message, nil
	}
	for _, e := range res.GetEntries() {
		if len(e.GetPeople()) == 1 && e.GetOutcome() == "matched" {
			ids = append(ids, e.GetPeople()[0].GetId())
			continue
		}
		return nil, unresolved(e), nil
	}
	return ids, "", nil
}

// unresolved says why an entry does not name one person.
func unresolved(e *connectionsv1.ResolvedEntry) string {
	if len(e.GetPeople()) == 0 {
		return fmt.Sprintf("You know nobody called “%s”.", e.GetEntry())
	}
	var may []string
	for _, p := range e.GetPeople() {
		name := p.GetName()
		if p.GetHeadline() != "" {
			name += " (" + p.GetHeadline() + ")"
		}
		may = append(may, name)
	}
	return fmt.Sprintf("“%s” may be %s. Enter an e-mail address, or paste the address of the person's page.", e.GetEntry(), strings.Join(may, " or "))
}
