package importing

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// shownColumns is how many columns the page shows. Further columns are imported by their headers.
const shownColumns = 200

// The limits of the tags for all people of a file, as in the contract.
const (
	mostTags   = 20
	longestTag = 60 // characters
)

// auto is the format value for files whose format is detected.
const auto = "auto"

// columnsContent is the content of the page with the format of a file and the meaning of its columns.
type columnsContent struct {
	Steps steps
	// Name is the name of the file, Kind its format in words, and Rows how many people it has. Kind
	// is empty if the file cannot be read in the chosen format.
	Name, Kind string
	Rows       int
	IsTable    bool
	// Warnings are about the file as a whole.
	Warnings []string
	Save     string
	// Unknown are the columns that Kith does not recognise or that have an error, and Columns the others.
	Unknown, Columns []columnRow
	// Error is about the columns as a whole.
	Error                  string
	Format, OnMatch, Dates page.Select
	Tags, Region           page.Field
}

// columnRow is one column of the table.
type columnRow struct {
	ID, Header string
	Examples   []string
	Field      page.Select
}

func (v *request) showColumns() error {
	return v.withFile(func(f *importer.File) error {
		o, err := f.Chosen()
		if err != nil {
			return err
		}
		return v.renderColumns(http.StatusOK, f, o, strings.Join(o.Tags, ", "), &page.Mistakes{})
	})
}

// renderColumns shows a file with options, which need not be stored.
func (v *request) renderColumns(status int, f *importer.File, o importer.Options, tags string, m *page.Mistakes) error {
	content := columnsContent{
		Steps: stepsAt(1, f.ID), Name: f.Name, Save: filePath(f.ID), Error: m.Of("columns"),
		Format: formats(o.Format, m.Of("format")), OnMatch: onMatches(o.OnMatch, m.Of("on_match")), Dates: dateOrders(o.DateOrder, m.Of("date_order")),
		Tags: page.Field{Name: "tags", Label: "Tags for everyone in the file", Value: tags, Autocomplete: "off", Hint: "Separated by commas.", Error: m.Of("tags")},
		Region: page.Field{
			Name: "default_region", Label: "Country for phone numbers without a code", Value: o.DefaultRegion, Autocomplete: "off", Plain: true,
			Hint: "Two letters, such as DE.", Error: m.Of("default_region"),
		},
	}
	o.Locale, o.Owner = v.Principal.Locale, v.Principal.DisplayName
	var err error
	if o.Fields, err = people.ListFields(v.Ctx, v.Data()); err != nil {
		return err
	}
	o.DefaultRegion = "" // an error in an option does not change the columns
	opened, err := importer.OpenDraft(f, o)
	switch {
	case fault.Is(err, fault.Invalid) && len(m.List) == 0: // the file can be read in another format
		m.Add("format", page.Sentence(err.Error()))
		content.Format.Error, status = m.Of("format"), http.StatusUnprocessableEntity
	case fault.Is(err, fault.Invalid):
	case err != nil:
		return err
	default:
		if err := content.fill(f, o, opened, m); err != nil {
			return err
		}
	}
	return v.render(status, "import-columns", "What the columns mean", m.List, content)
}

// fill adds the data of a file.
func (c *columnsContent) fill(f *importer.File, o importer.Options, opened *source.File, m *page.Mistakes) error {
	columns := opened.Columns()
	c.Kind, c.Rows, c.IsTable = kindOf(opened.Format), opened.Total(), columns != nil
	o.Columns = choicesOf(columns)
	whole, err := importer.OpenDraft(f, o) // the warnings are those of the chosen columns
	if err != nil {
		return err
	}
	c.Warnings = whole.Warnings
	options := make([]page.Option, 0, len(source.Fields()))
	for _, field := range source.Fields() {
		options = append(options, page.Option{Value: field.Name, Label: field.Label})
	}
	for _, column := range columns[:min(len(columns), shownColumns)] {
		row := columnRow{ID: columnName(column.At), Header: column.Header, Examples: column.Examples}
		if row.Header == "" {
			row.Header = fmt.Sprint("Column ", column.At)
		}
		row.Field = page.Select{Name: row.ID, Label: "Meaning", Hidden: " of " + row.Header, Error: m.Of(row.ID), Options: slices.Clone(options)}
		page.Choose(column.Field, row.Field.Options...)
		if unknownColumn(column) || row.Field.Error != "" {
			c.Unknown = append(c.Unknown, row)
		} else {
			c.Columns = append(c.Columns, row)
		}
	}
	return nil
}

// unknownColumn reports whether the values of a column only go to a note.
func unknownColumn(c source.Column) bool { return c.Field == source.FieldNote }

func columnName(at int) string { return fmt.Sprint("column-", at) }

func choicesOf(columns []source.Column) []source.Choice {
	var out []source.Choice
	for _, c := range columns {
		out = append(out, source.Choice{At: c.At, Header: c.Header, Field: c.Field})
	}
	return out
}

// saveColumns stores the form and redirects to the preview. If the format was changed, it shows the
// columns again.
func (v *request) saveColumns() error {
	return v.withFile(func(f *importer.File) error {
		before, err := f.Chosen()
		if err != nil {
			return err
		}
		m := &page.Mistakes{}
		o, reread := v.options(before, m)
		if m.Of("format") == "" {
			_, err := importer.OpenDraft(f, o)
			if err := takeOption(m, err); err != nil {
				return err
			}
		}
		if !reread {
			if o.Columns, err = v.columns(f, o, m); err != nil {
				return err
			}
		}
		if len(m.List) > 0 {
			return v.renderColumns(http.StatusUnprocessableEntity, f, o, v.Line("tags"), m)
		}
		err = importer.UpdateChoices(v.Ctx, v.Data(), tool, f.ID, func(stored *importer.Options) {
			o.Rows = stored.Rows
			if reread {
				o.Rows = nil
			}
			*stored = o
		})
		switch {
		case err != nil:
			return err
		case reread:
			return v.RedirectDone(filePath(f.ID), "import-reread")
		case v.Line("act") == "read":
			return v.Redirect(filePath(f.ID))
		}
		return v.Redirect(previewPath(f.ID))
	})
}

// takeOption shows the error of an option, or of the file as a whole, and returns any other error.
func takeOption(m *page.Mistakes, err error) error {
	before := len(m.List)
	if err := m.TakeAll(err); err != nil {
		return err
	}
	if err != nil && len(m.List) == before {
		return m.Take("format", err)
	}
	return nil
}

// options returns the options in the form. reread is set if the format was changed.
func (v *request) options(before importer.Options, m *page.Mistakes) (o importer.Options, reread bool) {
	o = importer.Options{
		Format: v.Line("format"), OnMatch: v.Line("on_match"), DefaultRegion: strings.ToUpper(v.Line("default_region")), Columns: before.Columns,
		DateOrder: v.Line("date_order"), Locale: v.Principal.Locale, Owner: v.Principal.DisplayName,
	}
	known, onMatch, dates := formats("", ""), onMatches("", ""), dateOrders("", "")
	if o.DateOrder != "" && !page.HasOption(dates.Options, o.DateOrder) {
		m.Add("date_order", "Choose how dates are written.")
	}
	if o.Format != "" && !page.HasOption(known.Options, o.Format) {
		m.Add("format", "Choose the format of the file.")
	}
	if o.OnMatch != "" && !page.HasOption(onMatch.Options, o.OnMatch) {
		m.Add("on_match", "Choose what to do with people who are here already.")
	}
	for tag := range strings.SplitSeq(v.Line("tags"), ",") {
		tag = text.Line(tag)
		if len([]rune(tag)) > longestTag || len(o.Tags) >= mostTags && tag != "" {
			m.Add("tags", "Give at most 20 tags of 60 characters.")
			break
		}
		if text.Visible(tag) {
			o.Tags = append(o.Tags, tag)
		}
	}
	if reread = o.Normal().Format != before.Normal().Format; reread {
		o.Columns = nil
	}
	return o, reread
}

// columns returns the columns in the form, and adds their errors.
func (v *request) columns(f *importer.File, o importer.Options, m *page.Mistakes) ([]source.Choice, error) {
	opened, err := importer.OpenDraft(f, importer.Options{Format: o.Format, Columns: o.Columns, Locale: o.Locale, Owner: o.Owner})
	if err != nil {
		return nil, err
	}
	columns := opened.Columns()
	if columns == nil {
		return nil, nil
	}
	var fields []page.Option
	for _, field := range source.Fields() {
		fields = append(fields, page.Option{Value: field.Name})
	}
	for i := range columns {
		switch sent := v.Line(columnName(columns[i].At)); {
		case page.HasOption(fields, sent):
			columns[i].Field = sent
		case sent != "":
			m.Add(columnName(columns[i].At), "Choose what the column means.")
		}
	}
	clashes := source.Clashes(columns)
	for _, c := range columns {
		if first, clash := clashes[c.At]; clash {
			m.Add(columnName(c.At), fmt.Sprintf("%s has this meaning already, and a person can have only one such value. Choose another meaning for one of the two columns.", headerAt(columns, first)))
		}
	}
	o.Columns = choicesOf(columns)
	if len(m.List) == 0 {
		_, err := importer.Open(f.Content, f.Name, o)
		if err := takeOption(m, err); err != nil {
			return nil, err
		}
	}
	return o.Columns, nil
}

// headerAt returns the name of the column at a position.
func headerAt(columns []source.Column, at int) string {
	for _, c := range columns {
		if c.At == at && c.Header != "" {
			return c.Header
		}
	}
	return fmt.Sprint("Column ", at)
}

// formats are the formats of files.
func formats(chosen, wrong string) page.Select {
	s := page.Select{Name: "format", Label: "What it is", Error: wrong, Options: []page.Option{{Value: auto, Label: "Detect automatically"}}}
	for _, format := range source.Formats() {
		s.Options = append(s.Options, page.Option{Value: format, Label: kindOf(format)})
	}
	page.Choose(cmp.Or(chosen, auto), s.Options...)
	return s
}

// kindOf returns a file's format in words.
func kindOf(format string) string {
	return map[string]string{
		source.LinkedInCSV: "Connections from LinkedIn", source.GoogleCSV: "Contacts from Google", source.OutlookCSV: "Contacts from Outlook",
		source.CSV: "Another table (CSV)", source.VCard: "vCards", source.JSContact: "JSContact", source.Monica: "An export of Monica", source.WhatsApp: "A chat from WhatsApp", source.JSON: "An export of Kith",
	}[format]
}

// dateOrders are the orders of day, month and year.
func dateOrders(chosen, wrong string) page.Select {
	s := page.Select{Name: "date_order", Label: "Dates such as 3/4/2021", Error: wrong, Options: []page.Option{
		{Value: auto, Label: "Detect automatically"}, {Value: source.DayMonthYear, Label: "Day, month, year"},
		{Value: source.MonthDayYear, Label: "Month, day, year"}, {Value: source.YearMonthDay, Label: "Year, month, day"},
	}}
	page.Choose(cmp.Or(chosen, auto), s.Options...)
	return s
}

func onMatches(chosen, wrong string) page.Select {
	s := page.Select{Name: "on_match", Label: "People you already have", Error: wrong, Options: []page.Option{
		{Value: importer.OnMatchFillBlanks, Label: "Add what is missing"}, {Value: importer.OnMatchSkip, Label: "Leave them as they are"},
		{Value: importer.OnMatchOverwrite, Label: "Overwrite them with the file"},
	}}
	page.Choose(importer.Options{OnMatch: chosen}.Normal().OnMatch, s.Options...)
	return s
}
