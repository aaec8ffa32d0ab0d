package contacts

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/page"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// The names of the inputs of the forms that edit an entry or a reminder begin with this, so
// that they differ from those of the bar.
const editPrefix = "edit_"

const (
	entryField    = "entry"
	reminderField = "reminder"
	removeField   = "remove"
)

// entryForm returns the form that edits a note or an interaction, with what is stored.
func (v *request) entryForm(e *timelinev1.TimelineEntry) (Form, error) {
	if !isNote(e.GetId()) {
		return v.interactionForm(e.GetId(), e.GetKind(), v.occurred(e), e.GetText()), nil
	}
	n, err := timeline.GetNote(v.Ctx, v.Data(), e.GetId()) // whole: the entry may be cut
	if err != nil {
		return Form{}, err
	}
	return noteForm(n.ID, n.Body), nil
}

func isNote(entryID string) bool { return strings.HasPrefix(entryID, id.Note+"_") }

func noteForm(noteID, body string) Form {
	field := areaField(editPrefix+"body", "Note", "", 6).with(body)
	field.Required = true
	return seen(Form{Name: noteID, Fields: []FormField{field, peopleField()}})
}

func (v *request) interactionForm(entryID, kind string, occurred time.Time, summary string) Form {
	day := dayField(editPrefix+"occurred_at", "Day", "").with(occurred.Format(time.DateOnly))
	day.Required = true
	return seen(Form{Name: entryID, Fields: []FormField{
		choiceField(editPrefix+"kind", "What it was", interactionKinds()...).with(kind), day,
		areaField(editPrefix+"summary", "What it was about", "", 3).with(summary), peopleField(),
	}})
}

func peopleField() FormField {
	return namesField(editPrefix+withField, "Add people", "Names or e-mail addresses, separated by commas.")
}

// seen adds the digests of the values of a form.
func seen(f Form) Form {
	for _, field := range f.Fields {
		f.Seen = append(f.Seen, hiddenValue{seenPrefix + field.Name, digest(field.Value)})
	}
	return f
}

// errShow ends a transaction in which nothing was written, because a form is shown again.
var errShow = errors.New("show the form again")

// mergeForm returns a form with what was typed, merged with what is stored, and the names of the
// fields to write. It fails with errShow if the two conflict.
func (v *request) mergeForm(stored Form) (Form, map[string]bool, error) {
	form := v.typedForm(stored.Name, append([]FormField(nil), stored.Fields...))
	changed := form.merge(section{}, stored.Fields, v.R.PostForm)
	form.Seen = stored.Seen
	if form.Conflict {
		return form, nil, errShow
	}
	return form, changed, nil
}

// saved is the result of a form that edits an entry or a reminder.
type saved struct {
	form     Form
	wrong    []page.FieldError
	changeID string
}

// editEntry saves the form of a note or an interaction.
func (v *request) editEntry() error {
	entryID := v.R.PostForm.Get(entryField)
	add, problem, err := v.resolve(v.R.PostForm.Get(editPrefix + withField))
	if err != nil {
		return err
	}
	if problem != "" {
		return v.answer(v.reshown(entryID), []page.FieldError{{Name: editPrefix + withField, Message: problem}}, "", "", nil)
	}
	save := v.saveInteraction
	if isNote(entryID) {
		save = v.saveNote
	}
	return v.saveForm("entry-saved", func(ctx context.Context, tx *db.Tx, out *saved) error { return save(ctx, tx, entryID, add, out) })
}

// reshown returns the form of an entry with what was typed, as it was sent.
func (v *request) reshown(entryID string) Form {
	form := noteForm(entryID, "")
	if !isNote(entryID) {
		form = v.interactionForm(entryID, "", time.Time{}, "")
	}
	form = v.typedForm(entryID, form.Fields)
	for _, f := range form.Fields {
		form.Seen = append(form.Seen, hiddenValue{seenPrefix + f.Name, v.R.PostForm.Get(seenPrefix + f.Name)})
	}
	return form
}

// saveForm runs save in a transaction, and answers. Nothing is written if save leaves errors
// of fields or a conflict.
func (v *request) saveForm(notice string, save func(context.Context, *db.Tx, *saved) error) error {
	var out saved
	err := v.Data().Write(v.Ctx, db.Actor{Tool: pageName}, func(ctx context.Context, tx *db.Tx) error {
		out = saved{}
		err := save(ctx, tx, &out)
		if err == nil && len(out.wrong) > 0 {
			err = errShow
		}
		return err
	})
	if errors.Is(err, errShow) && out.form.Conflict {
		p, err := v.person()
		if err != nil {
			return err
		}
		return v.showForm(http.StatusConflict, p, out.form)
	}
	wrong, err := page.Violations(err)
	out.wrong = append(out.wrong, wrong...)
	if errors.Is(err, errShow) {
		err = nil
	}
	for i, e := range out.wrong {
		out.wrong[i].Name = editPrefix + e.Name
		if e.Name == "connection_ids" || e.Name == "add_connection_ids" || e.Name == "remove_connection_ids" {
			out.wrong[i].Name = editPrefix + withField
		}
	}
	return v.answer(out.form, out.wrong, notice, out.changeID, err)
}

func (v *request) saveNote(ctx context.Context, tx *db.Tx, noteID string, add []string, out *saved) error {
	n, err := timeline.GetNote(ctx, tx, noteID)
	if err != nil {
		return err
	}
	var changed map[string]bool
	if out.form, changed, err = v.mergeForm(noteForm(noteID, n.Body)); err != nil {
		return err
	}
	req := &timelinev1.UpdateNoteRequest{Id: noteID, ExpectedVersion: &n.Version}
	if changed[editPrefix+"body"] {
		req.Body = new(valuesOf(out.form.Fields)[editPrefix+"body"])
	}
	if removed := v.R.PostForm[removeField]; len(add)+len(removed) > 0 {
		req.ConnectionIds = distinct(append(missing(n.ConnectionIDs, removed), add...))
	}
	if out.wrong, err = v.Check(req); err != nil || len(out.wrong) > 0 {
		return err
	}
	res, err := v.Timeline.UpdateNote(ctx, tx, req)
	out.changeID = res.GetChangeId()
	return err
}

func (v *request) saveInteraction(ctx context.Context, tx *db.Tx, entryID string, add []string, out *saved) error {
	if !id.Valid(id.Interaction, entryID) {
		return fault.New(fault.NotFound, "there is no such entry")
	}
	present, err := v.Timeline.UpdateInteraction(ctx, tx, &timelinev1.UpdateInteractionRequest{Id: entryID}) // changes nothing
	if err != nil {
		return err
	}
	i := present.GetInteraction()
	var changed map[string]bool
	if out.form, changed, err = v.mergeForm(v.interactionForm(entryID, i.GetKind(), v.occurred(i), i.GetSummary())); err != nil {
		return err
	}
	values := valuesOf(out.form.Fields)
	value := func(name string) *string {
		if !changed[editPrefix+name] {
			return nil
		}
		return new(values[editPrefix+name])
	}
	req := &timelinev1.UpdateInteractionRequest{
		Id: entryID, Kind: value("kind"), OccurredAt: value("occurred_at"), Summary: value("summary"), AddConnectionIds: distinct(add), RemoveConnectionIds: distinct(v.R.PostForm[removeField]),
	}
	if out.wrong, err = v.Check(req); err != nil || len(out.wrong) > 0 {
		return err
	}
	res, err := v.Timeline.UpdateInteraction(ctx, tx, req)
	out.changeID = res.GetChangeId()
	return err
}

// actOnEntry pins a note, or deletes an entry.
func (v *request) actOnEntry() error {
	entryID := v.R.PostForm.Get(entryField)
	switch act := v.R.PostForm.Get(actField); act {
	case "pin", "unpin":
		return press(v, "entry-saved", &timelinev1.UpdateNoteRequest{Id: entryID, Pinned: new(act == "pin")}, v.Timeline.UpdateNote)
	case "delete":
		res, wrong, err := page.Write(v.Member, pageName, &timelinev1.DeleteTimelineEntryRequest{Id: entryID}, v.Timeline.DeleteTimelineEntry)
		if err == nil && !res.GetDeleted() {
			err = noSuchThing()
		}
		return v.acted(wrong, "entry-deleted", res.GetChangeId(), err)
	}
	return noSuchThing()
}

// press calls the handler of a tool for a button, and goes back to the page with a notice.
func press[Q proto.Message, A interface{ GetChangeId() string }](v *request, notice string, req Q, handle func(context.Context, *db.Tx, Q) (A, error)) error {
	res, wrong, err := page.Write(v.Member, pageName, req, handle)
	return v.acted(wrong, notice, res.GetChangeId(), err)
}

// noSuchThing is the error for a request that no form of the page sends.
func noSuchThing() error { return fault.New(fault.NotFound, "there is no such thing") }

// acted ends the handling of a button: it has no input that could be wrong.
func (v *request) acted(wrong []page.FieldError, notice, changeID string, err error) error {
	if err == nil && len(wrong) > 0 {
		err = noSuchThing()
	}
	if err != nil {
		return err
	}
	return v.done(notice, changeID)
}

// reminderForm returns the form that edits a reminder.
func reminderForm(reminderID, words, day, recurrence string) Form {
	what, due := textField(editPrefix+"text", "What to do", "").with(words), dayField(editPrefix+"due_on", "Day", "").with(day)
	what.Required, due.Required = true, true
	return seen(Form{Name: reminderID, Fields: []FormField{what, due, recurrenceField(editPrefix + "recurrence").with(recurrence)}})
}

// openReminder returns the form of a reminder with what is stored.
func (v *request) openReminder(reminderID string) (Form, error) {
	if !id.Valid(id.Reminder, reminderID) {
		return Form{}, noSuchThing()
	}
	r, err := reminders.GetReminder(v.Ctx, v.Data(), reminderID)
	if err != nil {
		return Form{}, err
	}
	return reminderForm(r.ID, r.Text, r.DueOn, r.Recurrence), nil
}

func (v *request) editReminder() error {
	reminderID := v.R.PostForm.Get(reminderField)
	return v.saveForm("reminder-saved", func(ctx context.Context, tx *db.Tx, out *saved) error {
		r, err := reminders.GetReminder(ctx, tx, reminderID)
		if err != nil {
			return err
		}
		var changed map[string]bool
		if out.form, changed, err = v.mergeForm(reminderForm(r.ID, r.Text, r.DueOn, r.Recurrence)); err != nil {
			return err
		}
		values := valuesOf(out.form.Fields)
		req := &remindersv1.UpdateReminderRequest{Id: &reminderID}
		for name, field := range map[string]**string{"text": &req.Text, "due_on": &req.DueOn, "recurrence": &req.Recurrence} {
			if changed[editPrefix+name] {
				*field = new(values[editPrefix+name])
			}
		}
		if out.wrong, err = v.Check(req); err != nil || len(out.wrong) > 0 {
			return err
		}
		res, err := v.Reminders.UpdateReminder(ctx, tx, req)
		out.changeID = res.GetChangeId()
		return err
	})
}

// actOnReminder completes, dismisses or moves a reminder.
func (v *request) actOnReminder() error {
	reminderID := v.R.PostForm.Get(reminderField)
	switch act := v.R.PostForm.Get(actField); act {
	case "done", "dismissed":
		req := &remindersv1.CompleteReminderRequest{Id: reminderID, Outcome: &act, DueOn: optional(v.Line("due_on"))}
		return press(v, "reminder-"+act, req, v.Reminders.CompleteReminder)
	case "tomorrow", "next-week":
		days := map[string]int{"tomorrow": 1, "next-week": 7}[act]
		req := &remindersv1.UpdateReminderRequest{Id: &reminderID, DueOn: new(v.Today().AddDate(0, 0, days).Format(time.DateOnly))}
		return press(v, "reminder-moved", req, v.Reminders.UpdateReminder)
	}
	return noSuchThing()
}
