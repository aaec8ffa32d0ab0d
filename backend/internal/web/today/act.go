package today

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// tool is the name under which changes of the page are recorded.
const tool = "today"

// The fields of the forms.
const (
	fieldReminder   = "reminder"
	fieldDueOn      = "due_on"
	fieldConnection = "connection"
	fieldKind       = "kind"
	fieldSummary    = "summary"
	fieldUntil      = "until"
)

// done marks a reminder as done, or logs that the member was in touch with a person today.
func (v *request) done() error {
	if v.Line(fieldReminder) == "" {
		return v.logContact(&timelinev1.LogInteractionRequest{ConnectionIds: []string{v.Line(fieldConnection)}, Kind: "other"})
	}
	req := &remindersv1.CompleteReminderRequest{Id: v.Line(fieldReminder), DueOn: new(v.Line(fieldDueOn))}
	answer, wrong, err := page.Write(v.Member, tool, req, v.Reminders.CompleteReminder)
	return v.finish("reminder-done", answer.GetChangeId(), wrong, err)
}

// snooze moves a reminder, or the day on which to be in touch with a person, to the chosen day.
func (v *request) snooze() error {
	until := cmp.Or(v.Line(fieldUntil), page.Later(v.Today())[1].Value)
	if v.Line(fieldReminder) != "" {
		req := &remindersv1.UpdateReminderRequest{Id: new(v.Line(fieldReminder)), DueOn: &until}
		answer, wrong, err := page.Write(v.Member, tool, req, v.Reminders.UpdateReminder)
		return v.finish("snoozed", answer.GetChangeId(), wrong, err)
	}
	req := &remindersv1.SetCadenceRequest{ConnectionIds: []string{v.Line(fieldConnection)}, SnoozeUntil: &until}
	answer, wrong, err := page.Write(v.Member, tool, req, v.Reminders.SetCadence)
	return v.finish("snoozed", answer.GetChangeId(), wrong, err)
}

// log records a contact with a person.
func (v *request) log() error {
	req := &timelinev1.LogInteractionRequest{ConnectionIds: []string{v.Line(fieldConnection)}, Kind: v.Line(fieldKind)}
	page.Fill(req, url.Values{fieldSummary: v.R.PostForm[fieldSummary], "occurred_at": v.R.PostForm["occurred_at"]})
	return v.logContact(req)
}

func (v *request) logContact(req *timelinev1.LogInteractionRequest) error {
	if !id.Valid(id.Connection, req.GetConnectionIds()[0]) {
		return fault.New(fault.NotFound, "there is no such person")
	}
	answer, wrong, err := page.Write(v.Member, tool, req, v.Timeline.LogInteraction)
	if err == nil && len(wrong) > 0 {
		return v.renderLog(req, wrong)
	}
	return v.finish("logged", answer.GetChangeId(), nil, err)
}

// finish redirects to the page with a notice that undoes the change. The fields of one-click
// forms are hidden: if one of them is wrong, there is no such entry. If the entry was changed
// meanwhile, the page says so.
func (v *request) finish(notice, changeID string, wrong []page.FieldError, err error) error {
	switch {
	case fault.Is(err, fault.Conflict), err == nil && changeID == "" && len(wrong) == 0:
		notice = "changed-meanwhile"
	case err != nil:
		return err
	case len(wrong) > 0:
		return fault.New(fault.NotFound, "there is no such entry")
	}
	return v.RedirectUndoable(v.To(page.PathStart), notice, changeID)
}

// logForm is the form that logs a contact.
type logForm struct {
	ConnectionID, Name string
	Kinds              []page.Option
	KindError          string
	Fields             []page.Field
}

// renderLog shows the page with the form that was sent, and what is wrong with it.
func (v *request) renderLog(req *timelinev1.LogInteractionRequest, wrong []page.FieldError) error {
	connectionID := req.GetConnectionIds()[0]
	names, err := people.ListNames(v.Ctx, v.Data(), []string{connectionID})
	if err != nil {
		return err
	}
	if names[connectionID] == "" {
		return fault.New(fault.NotFound, "there is no such person")
	}
	problems := page.Mistakes{List: wrong}
	form := &logForm{
		ConnectionID: connectionID, Name: names[connectionID], Kinds: kinds(req.GetKind()), KindError: problems.Of(fieldKind),
		Fields: []page.Field{
			{Name: fieldSummary, Label: "What it was about", Value: v.R.PostForm.Get(fieldSummary), Rows: 3, Error: problems.Of(fieldSummary)},
			{Name: "occurred_at", Label: "Day", Kind: "date", Value: v.Line("occurred_at"), Error: problems.Of("occurred_at")},
		},
	}
	return v.render(http.StatusUnprocessableEntity, form, wrong)
}

// kinds returns the kinds of contact, of which one is selected.
func kinds(selected string) []page.Option {
	return page.Choose(selected, page.Option{Value: "message", Label: "Message"}, page.Option{Value: "call", Label: "Call"}, page.Option{Value: "meeting", Label: "Meeting"},
		page.Option{Value: "email", Label: "E-mail"}, page.Option{Value: "event", Label: "Event"}, page.Option{Value: "intro", Label: "Introduction"}, page.Option{Value: "other", Label: "Something else"})
}
