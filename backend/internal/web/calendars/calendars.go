// Package calendars serves the pages of sources, which are calendars and address books (package sources): the list in the settings, and one page
// for each, with how it was read, what it would log, and whom the member met who is not on file.
package calendars

import (
	"context"
	"embed"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Templates has the templates of the pages.
//
//go:embed templates
var Templates embed.FS

// tool is the name under which changes made on the pages are recorded.
const tool = "sources"

// The paths of the page of a calendar, and of its forms about what counts and about people.
const (
	pathOne     = page.PathSources + "/{id}"
	pathChoices = pathOne + "/choices"
	pathPeople  = pathOne + "/people"
)

// shownStrangers is how many people a page offers to add.
const shownStrangers = 50

// request is one request of a member.
type request struct {
	*page.Member

	sources *sources.Sources
	// wake makes the workers look for jobs.
	wake func()
}

// Routes returns the routes of the pages. They are not part of the demo.
func Routes(s *sources.Sources, wake func()) []page.Route {
	with := page.With(func(m *page.Member) *request { return &request{m, s, wake} })
	return []page.Route{
		{Pattern: "GET " + page.PathSources, Handle: with((*request).showList)},
		{Pattern: "POST " + page.PathSources, Handle: with((*request).add)},
		{Pattern: "GET " + pathOne, Handle: with((*request).showOne)},
		{Pattern: "POST " + pathOne, Handle: with((*request).act)},
		{Pattern: "POST " + pathChoices, Handle: with((*request).change)},
		{Pattern: "POST " + pathPeople, Handle: with((*request).choosePeople)},
	}
}

// listContent is the content of the list.
type listContent struct {
	Sources []sourceRow
	Form    addForm
	// Book are the fields that add an address book.
	Book []page.Field
	// OpenCalendar and OpenBook are set for the form that had mistakes.
	OpenCalendar, OpenBook bool
	// On is set if this Kith can keep the addresses, which are secrets.
	On bool
}

// addForm is the form that adds a calendar.
type addForm struct {
	choicesForm

	Address, Name page.Field
}

// choicesForm are the fields of which meetings count.
type choicesForm struct {
	Since page.Select
	More  []page.Field
	// Open is set if the further fields are to be seen.
	Open bool
}

// sourceRow is what the pages say of a calendar.
type sourceRow struct {
	sources.Source

	Path, Problem string
	// Activity is the address of what it changed.
	Activity string
	Waits    bool
}

// oneContent is the content of the page of a calendar.
type oneContent struct {
	sourceRow

	Choices   choicesForm
	Books     page.Select
	Sample    []sampleRow
	Strangers []sources.Stranger
}

// sampleRow is a meeting that would be logged.
type sampleRow struct {
	Start time.Time
	Title string
	With  string
}

func pathOf(sourceID string) string { return page.PathSources + "/" + sourceID }

func (v *request) row(src sources.Source) sourceRow {
	for _, t := range []*time.Time{&src.TriedAt, &src.SucceededAt, &src.FailedSince, &src.Since} {
		if !t.IsZero() {
			*t = t.In(v.Zone)
		}
	}
	row := sourceRow{
		Activity: page.Address(page.PathActivity, url.Values{"agent": {src.Actor().CredentialName}}), Source: src, Path: pathOf(src.ID), Waits: src.State == sources.On && !src.NextAt.After(v.At),
	}
	if src.Problem != "" {
		row.Problem = page.Sentence(v.Text(src.Problem))
	}
	return row
}

// spans are the choices of how far back meetings are read, in days.
func spans() []page.Option {
	return []page.Option{{Value: "0", Label: "From now on"}, {Value: "30", Label: "The last 30 days"}, {Value: "365", Label: "The last year"}, {Value: "1826", Label: "The last five years"}}
}

const defaultSpan = "365"

// bookFields returns the fields that add an address book, with what was typed but the password.
func (v *request) bookFields(m *page.Mistakes) []page.Field {
	return []page.Field{
		{
			Name: "server", Label: "Address of the server", Value: v.typed("server"), Required: true, Plain: true, Autocomplete: "off", Error: m.Of("server"),
			Hint: "Its name is enough for most, such as: carddav.fastmail.com",
		},
		{Name: "account", Label: "User name there", Value: v.typed("account"), Required: true, Plain: true, Autocomplete: "off"},
		{Name: "app_password", Label: "App password", Kind: "password", Required: true, Autocomplete: "new-password", Hint: "Make one in the settings of the server, so that you can end it there."},
		{Name: "book_name", Label: "Name", Value: v.typed("book_name"), Autocomplete: "off", Hint: "If you leave it empty, the address book’s own."},
	}
}

// isBook reports whether the form is the one of an address book.
func (v *request) isBook() bool { return v.R.URL.Query().Get("kind") == sources.Book }

func (v *request) showList() error {
	return v.renderList(http.StatusOK, v.form(defaultSpan, &page.Mistakes{}), nil)
}

// typed returns the value of a field as it was typed.
func (v *request) typed(name string) string { return strings.TrimSpace(v.R.PostForm.Get(name)) }

// form returns the form that adds a calendar, with what was typed.
func (v *request) form(span string, m *page.Mistakes) addForm {
	form := addForm{
		choicesForm: v.choices(v.typed, m),
		Address: page.Field{
			Name: "address", Label: "Address of the calendar", Value: v.typed("address"), Required: true, Plain: true, Kind: "url", Autocomplete: "off", Error: m.Of("address"),
			Hint: "The secret address in iCal format: it begins with https:// or webcal://.",
		},
		Name: page.Field{Name: "name", Label: "Name", Value: v.typed("name"), Autocomplete: "off", Hint: "If you leave it empty, the calendar’s own."},
	}
	form.Since = page.Select{Name: "since", Label: "Log meetings of", Options: page.Choose(span, spans()...)}
	for _, f := range form.More {
		form.Open = form.Open || f.Value != ""
	}
	return form
}

// choices returns the fields of the options, with their values by name.
func (v *request) choices(value func(name string) string, m *page.Mistakes) choicesForm {
	return choicesForm{
		More: []page.Field{
			{Name: "own", Label: "Your other e-mail addresses", Value: value("own"), Rows: 2, Plain: true, Hint: "One per line. So that you are not taken for somebody whom you met."},
			{Name: "words", Label: "Leave out meetings with these words", Value: value("words"), Rows: 2, Hint: "One per line, such as: dentist"},
			{Name: "domains", Label: "Domains of colleagues", Value: value("domains"), Rows: 2, Plain: true, Hint: "One per line, such as: example.com. They are not offered as new people."},
			{Name: "max_people", Label: "Leave out meetings with more people than", Value: value("max_people"), Kind: "number", Error: m.Of("max_people")},
		},
	}
}

// options reads the fields of choices.
func (v *request) options(m *page.Mistakes) sources.Options {
	o := sources.Options{Own: lines(v.typed("own")), Words: lines(v.typed("words")), Domains: lines(v.typed("domains"))}
	if most := v.typed("max_people"); most != "" {
		n, err := strconv.Atoi(most)
		if err != nil || n < 1 || n > 1000 {
			m.Add("max_people", "Write a number from 1 to 1000, or nothing.")
		}
		o.MaxPeople = n
	}
	return o
}

// since returns the time from which on meetings of a span are read.
func (v *request) since(span string) time.Time {
	days, _ := strconv.Atoi(span)
	if days == 0 {
		return v.At
	}
	return civil.Start(v.Today().AddDate(0, 0, -days), v.Zone)
}

func (v *request) renderList(status int, form addForm, wrong []page.FieldError) error {
	all, err := sources.List(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	content := listContent{
		Form: form, Book: v.bookFields(&page.Mistakes{List: wrong}), On: v.sources.Secrets != nil, OpenBook: v.isBook() && len(wrong) > 0, OpenCalendar: !v.isBook() && len(wrong) > 0,
	}
	for i := range all {
		content.Sources = append(content.Sources, v.row(all[i]))
	}
	return v.Render(status, "calendars", page.Page{Title: "Sources", Section: page.PathSources, Errors: wrong, Content: content})
}

// add adds a calendar, which the page of the calendar then shows as a preview.
func (v *request) add() error {
	m := &page.Mistakes{}
	span := v.typed("since")
	if !page.HasOption(spans(), span) {
		span = defaultSpan
	}
	o := v.options(m)
	if len(m.List) > 0 {
		return v.renderList(http.StatusUnprocessableEntity, v.form(span, m), m.List)
	}
	var src *sources.Source
	var err error
	if v.isBook() {
		src, err = v.sources.AddBook(v.Ctx, v.Data(), v.Line("book_name"), sources.Access{Address: v.typed("server"), Username: v.typed("account"), Password: v.typed("app_password")})
	} else {
		src, err = v.sources.Add(v.Ctx, v.Data(), v.Line("name"), v.typed("address"), v.since(span), o)
	}
	if fault.Is(err, fault.Full) {
		m.Add("address", page.Sentence(err.Error()))
		err = nil
	}
	if err := m.TakeAll(err); err != nil {
		return err
	}
	for i := range m.List {
		if v.isBook() && m.List[i].Name == "address" {
			m.List[i].Name = "server"
		}
	}
	if len(m.List) > 0 {
		return v.renderList(http.StatusUnprocessableEntity, v.form(span, m), m.List)
	}
	return v.RedirectDone(pathOf(src.ID), src.Kind+"-read")
}

// lines returns the lines of a text.
func lines(text string) []string { return strings.Split(text, "\n") }

func (v *request) showOne() error {
	src, err := sources.Get(v.Ctx, v.Data(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	return v.renderOne(http.StatusOK, src, func(name string) string {
		switch o := src.Options; name {
		case "own":
			return strings.Join(o.Own, "\n")
		case "words":
			return strings.Join(o.Words, "\n")
		case "domains":
			return strings.Join(o.Domains, "\n")
		case "max_people":
			if o.MaxPeople > 0 {
				return strconv.Itoa(o.MaxPeople)
			}
		}
		return ""
	}, &page.Mistakes{})
}

// renderOne renders the page of a calendar, with the values of the choices by name.
func (v *request) renderOne(status int, src *sources.Source, value func(name string) string, m *page.Mistakes) (err error) {
	content := oneContent{sourceRow: v.row(*src), Choices: v.choices(value, m)}
	content.Choices.Open = len(m.List) > 0
	now := page.Option{Label: v.Text("Since %s", v.Format().Day(content.Since))}
	content.Choices.Since = page.Select{Name: "since", Label: "Log meetings of", Options: page.Choose(value("since"), append([]page.Option{now}, spans()...)...)}
	if content.Strangers, err = sources.Strangers(v.Ctx, v.Data(), src.ID, shownStrangers); err != nil {
		return err
	}
	for i := range content.Strangers {
		content.Strangers[i].LastAt = content.Strangers[i].LastAt.In(v.Zone)
	}
	var books []page.Option
	chosen := ""
	for _, b := range src.Report.Books {
		books = append(books, page.Option{Value: b.Key, Label: b.Name, Own: true})
		if b.Chosen {
			chosen = b.Key
		}
	}
	if len(books) > 1 {
		content.Books = page.Select{Name: "book", Label: "Address book", Options: page.Choose(chosen, books...)}
	}
	if src.State == sources.Preview {
		if content.Sample, err = v.sample(src); err != nil {
			return err
		}
	}
	return v.Render(status, "calendar", page.Page{Title: src.Name, Section: page.PathSources, Errors: m.List, Content: content})
}

// sample returns the meetings of a preview with the names of who took part.
func (v *request) sample(src *sources.Source) (rows []sampleRow, err error) {
	var ids []string
	for _, s := range src.Report.Sample {
		ids = append(ids, s.People...)
	}
	names, err := people.ListNames(v.Ctx, v.Data(), people.DistinctIDs(ids))
	for _, s := range src.Report.Sample {
		var with []string
		for _, id := range s.People {
			with = append(with, names[id])
		}
		rows = append(rows, sampleRow{s.Start.In(v.Zone), s.Title, v.Format().And(with)})
	}
	return rows, err
}

// act does what a button of the page of a calendar says.
func (v *request) act() error {
	src, err := sources.Get(v.Ctx, v.Data(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	switch act := v.Line("act"); {
	case act == "start":
		return v.done(src, src.Kind+"-started", sources.SyncNow)
	case act == "read" && src.State == sources.On:
		return v.done(src, src.Kind+"-due", sources.SyncNow)
	case act == "pause":
		return v.done(src, "calendar-paused", sources.Pause)
	case act == "remove", act == "remove-all":
		return v.remove(src, act == "remove-all")
	}
	return page.Refuse(http.StatusBadRequest, "Nothing to do", "The form is an old one. Load the page again.")
}

// change changes which meetings of a calendar count.
func (v *request) change() error {
	src, err := sources.Get(v.Ctx, v.Data(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	m := &page.Mistakes{}
	o, since := v.options(m), src.Since
	if src.Kind == sources.Book && src.State != sources.Preview {
		return page.Refuse(http.StatusBadRequest, "Nothing to do", "The form is an old one. Load the page again.")
	}
	o.Book = v.Line("book")
	if span := v.typed("since"); page.HasOption(spans(), span) {
		since = v.since(span)
	}
	if len(m.List) == 0 {
		if err := m.Take("since", v.sources.Change(v.Ctx, v.Data(), src.ID, since, o)); err != nil {
			return err
		}
	}
	if len(m.List) > 0 {
		return v.renderOne(http.StatusUnprocessableEntity, src, v.typed, m)
	}
	v.wake()
	return v.RedirectDone(pathOf(src.ID), "calendar-changed")
}

// choosePeople adds the chosen people, or no longer offers them.
func (v *request) choosePeople() error {
	src, err := sources.Get(v.Ctx, v.Data(), v.R.PathValue("id"))
	if err != nil {
		return err
	}
	emails := v.R.PostForm["email"]
	emails = emails[:min(len(emails), shownStrangers)]
	switch {
	case len(emails) == 0:
		return v.RedirectDone(pathOf(src.ID), "nobody-chosen")
	case v.Line("act") == "dismiss":
		return v.done(src, "people-dismissed", func(ctx context.Context, tx *db.Tx, sourceID string) error {
			return sources.Dismiss(ctx, tx, sourceID, emails)
		})
	}
	return v.done(src, "people-added", func(ctx context.Context, tx *db.Tx, sourceID string) error {
		return sources.AddPeople(ctx, tx, sourceID, emails)
	})
}

// done makes a change of a calendar, and shows its page with a notice.
func (v *request) done(src *sources.Source, notice string, change func(ctx context.Context, tx *db.Tx, sourceID string) error) error {
	_, err := page.Change(v.Member, tool, func(ctx context.Context, tx *db.Tx) (struct{}, error) { return struct{}{}, change(ctx, tx, src.ID) })
	if err != nil {
		return err
	}
	v.wake()
	return v.RedirectDone(pathOf(src.ID), notice)
}

// remove removes a calendar and, if everything goes, starts to undo what it has logged.
func (v *request) remove(src *sources.Source, everything bool) error {
	_, err := page.Change(v.Member, tool, func(ctx context.Context, tx *db.Tx) (struct{}, error) {
		if err := sources.Remove(ctx, tx, src.ID); err != nil || !everything {
			return struct{}{}, err
		}
		_, _, err := importer.StartUndo(ctx, tx, src.ImportID)
		if fault.Is(err, fault.NotFound) { // it has logged nothing
			err = nil
		}
		return struct{}{}, err
	})
	if fault.Is(err, fault.Conflict) {
		return page.Refuse(http.StatusConflict, "Another undo is running", "Nothing was removed. Wait until the other undo has ended, and try again.")
	}
	if err != nil {
		return err
	}
	v.wake()
	return v.RedirectDone(page.PathSources, src.Kind+"-removed")
}
