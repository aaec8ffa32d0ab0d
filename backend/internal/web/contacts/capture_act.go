package contacts

import (
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/web/page"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// lineAct is what a line asks for, other than to add a person: a contact to log, a reminder, or a note.
type lineAct struct {
	// form is barLog, barRemind or barNote.
	form string
	// kind is the kind of contact, and text what it was about, what to do, or the note.
	kind, text string
	// people are the names that the line has, with commas between them.
	people string
	// day is zero if the line has none.
	day time.Time
}

// contactWords are the words for kinds of contact with which a line begins.
var contactWords = map[string]string{
	"coffee": "meeting", "lunch": "meeting", "dinner": "meeting", "breakfast": "meeting", "drinks": "meeting", "beer": "meeting", "tea": "meeting", "walk": "meeting", "meeting": "meeting",
	"met": "meeting", "saw": "meeting", "visited": "meeting", "call": "call", "called": "call", "phoned": "call", "spoke": "call", "email": "email", "emailed": "email", "wrote": "email",
	"message": "message", "messaged": "message", "texted": "message", "kaffee": "meeting", "mittagessen": "meeting", "abendessen": "meeting", "treffen": "meeting", "traf": "meeting", "anruf": "call",
	"telefonat": "call",
}

// remindWords begin a reminder; what to do follows.
var remindWords = []string{"remind me to ", "remind me about ", "remind me of ", "remind me ", "reminder to ", "reminder: ", "erinnere mich an ", "erinnere mich "}

// parseAct reads a line such as "coffee with Heike and Kofi yesterday", "remind me to call Ana in 3 weeks" or "note on Kofi:
// is looking for a job". It reports whether the line is one; all others are about a person to add.
func (v *request) parseAct(line string) (lineAct, bool) {
	lower := strings.ToLower(line)
	for _, begin := range remindWords {
		if strings.HasPrefix(lower, begin) {
			rest, day := v.dayAtEnd(strings.Fields(line[len(begin):]))
			return lineAct{form: barRemind, text: strings.Join(rest, " "), people: strings.Join(capitalised(rest), ", "), day: day}, len(rest) > 1 || len(rest) == 1 && !slices.Contains([]string{"to", "about", "of", "an"}, strings.ToLower(rest[0]))
		}
	}
	for _, begin := range []string{"note on ", "note about ", "note for ", "notiz zu "} {
		if name, body, found := strings.Cut(line[min(len(line), len(begin)):], ":"); strings.HasPrefix(lower, begin) && found {
			return lineAct{form: barNote, text: strings.TrimSpace(body), people: namesIn(strings.Fields(name))}, true
		}
	}
	return v.parseContact(line)
}

// parseContact reads a line about a contact.
func (v *request) parseContact(line string) (lineAct, bool) {
	said, about, _ := strings.Cut(line, ":")
	words := strings.Fields(said)
	if len(words) < 2 {
		return lineAct{}, false
	}
	kind, known := contactWords[strings.ToLower(words[0])]
	if !known {
		return lineAct{}, false
	}
	a := lineAct{form: barLog, kind: kind, text: strings.TrimSpace(about)}
	rest, day := v.dayAtEnd(words[1:])
	a.day = day
	switch first := strings.ToLower(rest[0]); {
	case slices.Contains([]string{"with", "mit", "to"}, first):
		rest = rest[1:]
	case !unicode.IsUpper([]rune(rest[0])[0]): // such as "call centre manager at Helios"
		return lineAct{}, false
	}
	if at := slices.IndexFunc(rest, isWord("about")); at > 0 && a.text == "" {
		a.text, rest = strings.Join(rest[at+1:], " "), rest[:at]
	}
	if a.text == "" && kind == "meeting" && slices.Contains([]string{"coffee", "lunch", "dinner", "breakfast", "drinks", "beer", "tea", "walk"}, strings.ToLower(words[0])) {
		a.text = capital(words[0])
	}
	a.people = namesIn(rest)
	return a, a.people != ""
}

// dayAtEnd takes a day off the end of words; it is zero if they end with none.
func (v *request) dayAtEnd(words []string) ([]string, time.Time) {
	const most = 4 // on 3 December 2026
	for n := min(most, len(words)-1); n > 0; n-- {
		end := strings.Join(words[len(words)-n:], " ")
		day, ok := civil.SpokenDay(end, v.Today())
		if !ok && strings.ContainsAny(end, "0123456789") {
			day, ok = v.dayOf(strings.TrimPrefix(end, "on "))
		}
		if ok {
			return words[:len(words)-n], day
		}
	}
	return words, time.Time{}
}

// dayOf reads a whole date, or the next day with that day and month.
func (v *request) dayOf(typed string) (time.Time, bool) {
	date, ok := v.Format().ReadPartialDay(typed)
	if !ok {
		var err error
		if date, err = source.ReadDate(typed, source.Options{Locale: v.Locale(), Today: v.Today().AddDate(1, 0, 0)}); err != nil {
			return time.Time{}, false
		}
	}
	if day, err := time.Parse(time.DateOnly, date); err == nil {
		return day, true
	}
	day, err := time.Parse("--01-02", date)
	if err != nil {
		return time.Time{}, false
	}
	day = time.Date(v.Today().Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	if day.Before(v.Today()) {
		day = day.AddDate(1, 0, 0)
	}
	return day, true
}

// namesIn returns the names in words such as "Heike, Ana and Kofi", with commas between them.
func namesIn(words []string) string {
	var names []string
	var name []string
	end := func() {
		if len(name) > 0 {
			names, name = append(names, strings.Join(name, " ")), nil
		}
	}
	for _, word := range words {
		if slices.Contains([]string{"and", "und", "&", "+"}, strings.ToLower(word)) {
			end()
			continue
		}
		name = append(name, strings.TrimRight(word, ",;."))
		if strings.HasSuffix(word, ",") || strings.HasSuffix(word, ";") {
			end()
		}
	}
	end()
	return strings.Join(names, ", ")
}

// capitalised returns the runs of words with a capital letter, which may be names.
func capitalised(words []string) []string {
	var runs []string
	last := -2
	for i, word := range words {
		bare := strings.TrimRight(word, ".,;:!?")
		if bare == "" || !unicode.IsUpper([]rune(bare)[0]) {
			continue
		}
		if last == i-1 {
			runs[len(runs)-1] += " " + bare
		} else {
			runs = append(runs, bare)
		}
		if last = i; bare != word {
			last = -2
		}
	}
	return runs
}

// actForm returns the form of an act, as a member corrects it before it is saved.
func (v *request) actForm(a lineAct) (Form, error) {
	with := namesField(withField, "People", "Names or e-mail addresses, separated by commas.")
	switch a.form {
	case barLog:
		with.Required = true
		fields := v.logFields()[:3] // without the other people
		if !a.day.IsZero() {
			fields[1] = fields[1].with(a.day.Format(time.DateOnly))
		}
		return Form{Name: barLog, Fields: []FormField{fields[0].with(a.kind), with.with(a.people), fields[1], fields[2].with(a.text)}}, nil
	case barRemind:
		fields := v.remindFields()
		if !a.day.IsZero() {
			fields[1] = fields[1].with(a.day.Format(time.DateOnly))
		}
		known, err := v.matched(a.people)
		return Form{Name: barRemind, Fields: []FormField{fields[0].with(capital(a.text)), with.with(known), fields[1], fields[2]}}, err
	}
	with.Required = true
	return Form{Name: barNote, Fields: []FormField{with.with(a.people), noteFields()[0].with(a.text)}}, nil
}

// capital returns a text with a capital letter first.
func capital(s string) string {
	if s == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// matched returns those of the names that mean one person. A reminder may have other words with a capital letter.
func (v *request) matched(names string) (string, error) {
	var all []string
	for name := range strings.SplitSeq(names, ", ") {
		ids, problem, err := v.resolve(name)
		if err != nil {
			return "", err
		}
		if problem == "" && len(ids) == 1 {
			all = append(all, name)
		}
	}
	return strings.Join(all, ", "), nil
}

// saveAct saves the form of an act, and leads to the first of its people.
func (v *request) saveAct(kind string) error {
	form, err := v.actForm(lineAct{form: kind})
	if err != nil || form.Name != kind {
		return noSuchThing()
	}
	form = v.typedForm(kind, form.Fields)
	ids, problem, err := v.resolve(valuesOf(form.Fields)[withField])
	if err != nil {
		return err
	}
	ids = distinct(ids)
	if problem == "" && len(ids) == 0 && kind != barRemind {
		problem = "Say with whom, by names or e-mail addresses."
	}
	if problem != "" {
		return v.actWrong(form, []page.FieldError{{Name: withField, Message: problem}})
	}
	var wrong []page.FieldError
	var changeID, notice string
	switch kind {
	case barLog:
		req := &timelinev1.LogInteractionRequest{}
		page.Fill(req, v.R.PostForm)
		req.ConnectionIds, notice = ids, "logged"
		res, found, failed := page.Write(v.Member, pageName, req, v.Timeline.LogInteraction)
		changeID, wrong, err = res.GetChangeId(), found, failed
	case barRemind:
		req := &remindersv1.CreateReminderRequest{}
		page.Fill(req, v.R.PostForm)
		req.ConnectionIds, notice = ids, "reminded"
		res, found, failed := page.Write(v.Member, pageName, req, v.Reminders.CreateReminder)
		changeID, wrong, err = res.GetChangeId(), found, failed
	default:
		req := &timelinev1.AddNoteRequest{}
		page.Fill(req, v.R.PostForm)
		req.ConnectionIds, notice = ids, "noted"
		res, found, failed := page.Write(v.Member, pageName, req, v.Timeline.AddNote)
		changeID, wrong, err = res.GetChangeId(), found, failed
	}
	switch {
	case err != nil:
		return err
	case len(wrong) > 0:
		return v.actWrong(form, wrong)
	case len(ids) == 0:
		return v.RedirectUndoable(v.To(page.PathStart), notice, changeID)
	}
	return v.RedirectUndoable(v.To(page.PathPeople+"/"+ids[0]), notice, changeID)
}

// actWrong shows the form of an act again, with its errors.
func (v *request) actWrong(form Form, wrong []page.FieldError) error {
	form.mark(wrong)
	return v.renderCapture(http.StatusBadRequest, captureContent{Line: v.Line(lineParameter), Form: Form{Fields: captureFields()}, Act: &form}, form.Errors)
}
