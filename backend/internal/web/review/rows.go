package review

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Row is one change, as pages show it. Its times are in the member's time zone.
type Row struct {
	ID string
	At time.Time
	// What is the change's own summary, in the language of the member.
	What string
	// Who is the name of the agent or token; empty for the member.
	Who string
	// Tool is the title of the tool, or the name of the page.
	Tool string
	// Undone is set if the change was undone, and UndoneAt is when, if still known.
	Undone   bool
	UndoneAt time.Time
	// Undid is the time of the change that this one undid; zero for others.
	Undid time.Time
	// Undoable is set if the change can be undone now, Final if it never can be.
	Undoable, Final bool
	// Objects are what the change did, object by object, the first ones only. More is how
	// many more there are. Rows has none.
	Objects []objectRow
	More    int
}

// Brief returns the only field that a change is about: the text of a new note or contact, or the field that was changed. It is nil if
// there are several, or if the summary says it already, as that of a reminder does.
func (r Row) Brief() *fieldRow {
	if len(r.Objects) != 1 || r.More > 0 {
		return nil
	}
	var found *fieldRow
	for i, f := range r.Objects[0].Fields {
		switch {
		case r.Objects[0].Did == actionWord(history.ActionCreated) && f.Label != fieldWord("body") && f.Label != "summary":
			continue
		case found != nil:
			return nil
		}
		found = &r.Objects[0].Fields[i]
	}
	if found != nil && found.Before == "" && strings.HasSuffix(r.What, ": "+found.After) {
		return nil
	}
	return found
}

// About names the people of a changed note, interaction or reminder: "about Ana", or "with Heike, Kofi" for an interaction. It is empty for
// other changes.
func (r Row) About() string {
	if len(r.Objects) != 1 || r.More > 0 {
		return ""
	}
	names, found := strings.CutPrefix(r.Objects[0].Name, "about ")
	switch {
	case !found:
		return ""
	case r.Objects[0].Kind == kindWord(history.Interaction):
		return "with " + names
	}
	return "about " + names
}

// Long reports whether Brief leaves out something that the change did.
func (r Row) Long() bool {
	if r.Brief() != nil {
		return len(r.Objects[0].Fields) > 1
	}
	return slices.ContainsFunc(r.Objects, func(o objectRow) bool { return len(o.Fields) > 0 }) || len(r.Objects) > 1
}

// Rows returns changes as pages show them, without their objects. It makes one more query
// for the times of the changes that undid them or that they undid.
func (p *Pages) Rows(ctx context.Context, data db.Reader, zone *time.Location, format page.Format, changes []history.Change) ([]Row, error) {
	var others []string
	for _, c := range changes {
		for _, id := range []string{c.UndoneBy, c.Undoes} {
			if id != "" {
				others = append(others, id)
			}
		}
	}
	found, err := changesByID(ctx, data, others)
	if err != nil {
		return nil, err
	}
	madeAt := map[string]time.Time{}
	for _, c := range found {
		madeAt[c.ID] = c.CreatedAt
	}
	rows := make([]Row, len(changes))
	for i, c := range changes {
		rows[i] = p.row(&c, madeAt, zone, format)
	}
	return rows, nil
}

// changesByID returns changes, the latest first.
func changesByID(ctx context.Context, data db.Reader, ids []string) ([]history.Change, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return history.ListChanges(ctx, data, history.Query{IDs: ids, Limit: len(ids)})
}

func (p *Pages) row(c *history.Change, madeAt map[string]time.Time, zone *time.Location, format page.Format) Row {
	row := Row{
		ID: c.ID, At: local(c.CreatedAt, zone), What: format.Summary(c.Summary), Who: nameOf(c.CredentialID, c.CredentialName), Tool: p.toolTitle(c.Tool),
		Undone: c.UndoneBy != "", UndoneAt: local(madeAt[c.UndoneBy], zone), Undid: local(madeAt[c.Undoes], zone), Undoable: c.Undoable(),
	}
	row.Final = !row.Undoable && !row.Undone
	return row
}

// nameOf returns the name of an agent; empty for the member.
func nameOf(credentialID, name string) string {
	if credentialID == "" && name == "" {
		return ""
	}
	return cmp.Or(oauth.ShownName(name), "an application without a name")
}

// toolTitle returns the title of a tool, or the name of a page. For an unknown name it
// returns the empty string.
func (p *Pages) toolTitle(name string) string {
	if rpc, ok := p.Catalog.Tool(name); ok {
		return rpc.Tool.Title
	}
	path := "/" + name
	if path == page.PathBin {
		return "Bin page"
	}
	if place, ok := page.PlaceOf(path); ok && path != page.PathStart {
		return place.Title + " page"
	}
	return ""
}

// rows returns changes as they are shown to the member, each with its first objects.
func (v *request) rows(changes []history.Change, objects, values int) ([]Row, error) {
	rows, err := v.Rows(v.Ctx, v.Data(), v.Zone, v.Format(), changes)
	if err != nil {
		return nil, err
	}
	var shown []history.Effect
	for i := range changes {
		changes[i].Effects = slices.DeleteFunc(changes[i].Effects, forgotten)
		shown = append(shown, changes[i].Effects[:min(len(changes[i].Effects), objects)]...)
	}
	names, err := v.namesOf(shown, changes...)
	if err != nil {
		return nil, err
	}
	for i, c := range changes {
		shown := c.Effects[:min(len(c.Effects), objects)]
		for j, o := range (&history.Change{Effects: shown, Undoes: c.Undoes}).Objects() {
			rows[i].Objects = append(rows[i].Objects, v.objectRow(&names, o, shown[j], values))
		}
		rows[i].More = len(c.Effects) - len(shown)
	}
	return rows, nil
}

// forgotten reports whether nothing is left of an effect: its object was deleted for good.
func forgotten(e history.Effect) bool {
	missing := func(state json.RawMessage) bool { return len(state) == 0 || string(state) == "null" }
	return missing(e.Before) && missing(e.After)
}

// local returns a time in a time zone; the zero time stays zero.
func local(t time.Time, zone *time.Location) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.In(zone)
}
