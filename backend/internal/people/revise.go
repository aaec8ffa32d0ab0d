package people

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Card is what a card says of a person.
type Card struct {
	Connection

	// Names are the people whom the card names, with what they are to the person.
	Names []Relation
}

// Revision is what changed between two versions of a card, to be made to the person of whom the cards are.
type Revision struct {
	// Base is the card that a device got last, Sent the card that it sends now.
	Base, Sent *Card
	// Now is the version that the device would get now. A field that differs from Base in both Now and Sent, and not in the same way, is a
	// conflict: it stays as it is stored. If Now is nil, Sent wins.
	Now *Card
	// Only are the only fields that are changed, as Apply names them; nil for all.
	Only []string

	conflicts []string
}

// Apply returns the person with the changes, and the fields that are in conflict. What is the same in Base and Sent stays as it is
// stored. A device may not know tags, accounts, other people, custom fields or kept properties: if Sent has none of a kind at all, those
// of the kind stay. What is added to a list or removed from it is no conflict. Groups never change. It fails with fault.Invalid if a
// person can't have the values.
func (r Revision) Apply(stored *Connection) (after *Connection, conflicts []string, err error) {
	after = stored.clone()
	x := revision{after, &r}
	typed := after.HasTypedLocation()
	x.texts()
	x.handles()
	x.positions()
	x.tags()
	x.dates()
	if r.may("addresses") {
		after.Addresses = reviseList(after.Addresses, r.Base.Addresses, r.Sent.Addresses, func(a, b Address) bool { return a == b })
	}
	if r.may("accounts") && len(r.Sent.Accounts) > 0 {
		after.Accounts = reviseList(after.Accounts, r.Base.Accounts, r.Sent.Accounts, func(a, b Account) bool { return a == b })
	}
	x.fields()
	x.kept()
	x.related()
	x.place(typed)
	if r.takes("photo", r.Base.Photo, func(c *Card) string { return c.Photo }) {
		after.Photo = r.Sent.Photo
	}
	return after, r.conflicts, after.check()
}

// may reports whether a field may change.
func (r *Revision) may(field string) bool { return r.Only == nil || slices.Contains(r.Only, field) }

// takes reports whether a field takes its value of Sent. It notes a conflict.
func (r *Revision) takes(field, base string, value func(*Card) string) bool {
	sent := value(r.Sent)
	if base == sent || !r.may(field) {
		return false
	}
	if r.Now == nil {
		return true
	}
	now := value(r.Now)
	if now == base || now == sent {
		return true
	}
	r.conflict(field)
	return false
}

func (r *Revision) conflict(field string) {
	if !slices.Contains(r.conflicts, field) {
		r.conflicts = append(r.conflicts, field)
	}
}

// Revise stores a person with the changes of a revision, and records the change. It writes nothing if nothing changed.
func Revise(ctx context.Context, w *db.Tx, stored, after *Connection) (Written, error) {
	if reflect.DeepEqual(stored, after) {
		return Written{Connection: stored}, nil
	}
	defined, err := EnsureFields(ctx, w, []*Connection{after})
	if err != nil {
		return Written{}, err
	}
	return replace(ctx, w, stored, after, defined)
}

// replace stores a new version of a person and records the change, with further effects.
func replace(ctx context.Context, w *db.Tx, before, after *Connection, effects []history.EffectDraft) (Written, error) {
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceConnection(ctx, w, after); err != nil {
		return Written{}, err
	}
	draft := history.One("Changed "+after.Name, history.Connection, after.ID, before, after)
	draft.Effects = append(effects, draft.Effects...) // first: an undo, which begins at the end, removes a field after its values
	if before.DeceasedOn == "" && after.DeceasedOn != "" {
		ended, err := EndReminders(ctx, w, after.ID)
		if err != nil {
			return Written{}, err
		}
		draft.Effects = append(draft.Effects, ended...)
	}
	changeID, err := history.Record(ctx, w, draft)
	return Written{Connection: after, ChangeID: changeID, RemovedDates: missing(before.Dates, after.Dates)}, err
}

// Add adds a person from a card, also one who exists already, and records the change.
func Add(ctx context.Context, w *db.Tx, card *Card) (Written, error) {
	c := card.clone()
	c.Version, c.CreatedAt, c.UpdatedAt = 1, w.Now(), w.Now()
	for _, r := range card.Names {
		c.absorbRelated(r)
	}
	if err := c.check(); err != nil {
		return Written{}, err
	}
	effects, err := EnsureFields(ctx, w, []*Connection{c})
	if err != nil {
		return Written{}, err
	}
	if err := InsertConnection(ctx, w, c); err != nil {
		return Written{}, err
	}
	draft := history.One("Added "+c.Name, history.Connection, c.ID, nil, c)
	draft.Effects = append(effects, draft.Effects...)
	changeID, err := history.Record(ctx, w, draft)
	return Written{Connection: c, ChangeID: changeID}, err
}

// revision makes the changes of a Revision to a person.
type revision struct {
	*Connection

	*Revision
}

func (r revision) texts() {
	for i, t := range r.Connection.texts() {
		of := func(c *Card) string { return *c.texts()[i].value }
		if t.name != "location" && r.takes(t.name, of(r.Base), of) {
			*t.value = of(r.Sent)
		}
	}
	if r.NameParts.IsZero() && r.Sent.NameParts == (NameParts{Given: r.Name}) { // what a device makes of a name without parts
		return
	}
	parts := r.NameParts.All()
	for i, part := range parts {
		of := func(c *Card) string { return *c.NameParts.All()[i].Value }
		switch {
		case of(r.Base) != of(r.Sent) && slices.Contains(r.conflicts, "name"): // a name is whole
			r.conflict(part.Name)
		case r.takes(part.Name, of(r.Base), of):
			*part.Value = of(r.Sent)
		}
	}
}

// place changes the place that the member typed; typed says whether there was one.
func (r revision) place(typed bool) {
	of := func(c *Card) string {
		if c.HasTypedLocation() {
			return c.Location
		}
		return ""
	}
	switch was, is := r.Base.HasTypedLocation(), r.Sent.HasTypedLocation(); {
	case is && (!was || r.Base.Location != r.Sent.Location):
		if r.takes("location", of(r.Base), of) {
			r.Location = r.Sent.Location
		}
	case !typed:
		r.Location = r.derivedPlace()
	case was && !is && r.takes("location", of(r.Base), of):
		r.Location = r.derivedPlace()
	}
}

// fields changes the values of custom fields.
func (r revision) fields() {
	for _, v := range r.Sent.Fields {
		of := func(c *Card) string {
			if at := slices.IndexFunc(c.Fields, func(other FieldValue) bool { return other.compare(v) == 0 }); at >= 0 {
				return c.Fields[at].Value
			}
			return ""
		}
		if !slices.Contains(r.Base.Fields, v) && r.takes("field "+v.Name, of(r.Base), of) {
			r.putField(v)
		}
	}
}

// reviseList returns a list with the changes between two others: what was removed and what was added. What stays is in the order
// of sent.
func reviseList[T any](stored, base, sent []T, same func(a, b T) bool) []T {
	in := func(list []T, item T) int {
		return slices.IndexFunc(list, func(other T) bool { return same(item, other) })
	}
	if slices.EqualFunc(base, sent, same) {
		return stored
	}
	var out []T
	for _, item := range sent {
		if at := in(stored, item); at >= 0 {
			out = append(out, stored[at])
		} else if in(base, item) < 0 {
			out = append(out, item)
		}
	}
	for _, item := range stored {
		if in(sent, item) < 0 && in(base, item) < 0 {
			out = append(out, item)
		}
	}
	return out
}

// handles changes the addresses. One that stays keeps its id, and gets a new spelling or label.
func (r revision) handles() {
	changed := r.Handles
	if r.may("handles") {
		changed = reviseList(r.Handles, r.Base.Handles, r.Sent.Handles, Handle.same)
	}
	for i := range changed {
		h := &changed[i]
		of := func(c *Card) Handle {
			if at := slices.IndexFunc(c.Handles, h.same); at >= 0 {
				return c.Handles[at]
			}
			return Handle{}
		}
		if after := of(r.Sent); after.NormalValue != "" {
			if r.takes("spelling of "+h.NormalValue, of(r.Base).Value, func(c *Card) string { return of(c).Value }) {
				h.Value = after.Value
			}
			if r.takes("label of "+h.NormalValue, of(r.Base).Label, func(c *Card) string { return of(c).Label }) {
				h.Label = after.Label
			}
		}
	}
	r.Handles = changed
}

// positions ends the current jobs that the card no longer has, and adds those that are new. A new title at the same organisation
// is the same job.
func (r revision) positions() {
	if !r.may("positions") {
		return
	}
	same := func(p Position) func(Position) bool {
		return func(other Position) bool {
			return other.Current && NormalOrganization(p.Organization) == NormalOrganization(other.Organization) && p.Title == other.Title
		}
	}
	var added []Position
	for _, p := range r.Sent.Positions {
		if p.Current && !slices.ContainsFunc(r.Base.Positions, same(p)) && !slices.ContainsFunc(r.Positions, same(p)) {
			added = append(added, p)
		}
	}
	for _, p := range r.Base.Positions {
		at := slices.IndexFunc(r.Positions, same(p))
		if slices.ContainsFunc(r.Sent.Positions, same(p)) || at < 0 {
			continue
		}
		if next := slices.IndexFunc(added, p.continues); next >= 0 {
			r.Positions[at].Title = added[next].Title
			added = slices.Delete(added, next, next+1)
			continue
		}
		r.Positions[at].Current = false
	}
	r.Positions = append(r.Positions, added...)
}

// tags changes the tags. The names of groups are among those of a card, and are no tags.
func (r revision) tags() {
	if len(r.Sent.Tags) == 0 || !r.may("tags") {
		return
	}
	r.Tags = reviseList(r.Tags, r.Base.Tags, r.Sent.Tags, func(a, b string) bool { return text.Fold(a) == text.Fold(b) })
}

// dates changes the dates. A date of the same kind and label that changed is the same date.
func (r revision) dates() {
	if !r.may("important_dates") {
		return
	}
	changed := r.rivals(reviseList(r.Dates, r.Base.Dates, r.Sent.Dates, ImportantDate.same))
	for i := range changed {
		d := &changed[i]
		was := slices.IndexFunc(r.Dates, func(other ImportantDate) bool {
			return other.Kind == d.Kind && other.Label == d.Label && !slices.ContainsFunc(changed, func(kept ImportantDate) bool { return kept.ID == other.ID })
		})
		if d.ID == "" && was >= 0 {
			d.ID = r.Dates[was].ID
		}
	}
	r.Dates = changed
}

// rivals leaves one of two dates of which both sides made one: that of Sent, or in a conflict the stored one.
func (r revision) rivals(changed []ImportantDate) []ImportantDate {
	only := func(list []ImportantDate, d ImportantDate) (of ImportantDate, ok bool) {
		n := 0
		for _, other := range list {
			if other.Kind == d.Kind && other.Label == d.Label {
				of = other
				n++
			}
		}
		return of, n == 1
	}
	for _, d := range r.Sent.Dates {
		base, was := only(r.Base.Dates, d)
		_, sent := only(r.Sent.Dates, d)
		stored, is := only(r.Dates, d)
		if !was || !sent || !is || base.same(d) || base.same(stored) || stored.same(d) {
			continue
		}
		loser := stored
		if r.Now != nil {
			r.conflict("important_dates")
			loser = d
		}
		changed = slices.DeleteFunc(changed, loser.same)
	}
	return changed
}

// kept changes kept properties: those of a name that sent has take the place of the stored ones.
func (r revision) kept() {
	named := func(list []Kept, name string) (of []Kept) {
		for _, k := range list {
			if k.Format == "vcard" && k.Name == name {
				of = append(of, k)
			}
		}
		return of
	}
	for _, k := range r.Sent.Kept {
		after := named(r.Sent.Kept, k.Name)
		if slices.Equal(named(r.Kept, k.Name), after) || !r.takes("property "+k.Name, fmt.Sprint(named(r.Base.Kept, k.Name)), func(c *Card) string {
			return fmt.Sprint(named(c.Kept, k.Name))
		}) {
			continue
		}
		r.Kept = slices.DeleteFunc(r.Kept, func(held Kept) bool { return held.Format == "vcard" && held.Name == k.Name })
		for _, one := range after {
			r.absorbKept(one)
		}
	}
}

// related changes the people who are not on file. Relationships with people who are stay.
func (r revision) related() {
	if len(r.Sent.Names) == 0 || !r.may("related") {
		return
	}
	same := func(of Relation) func(Relation) bool {
		return func(other Relation) bool { return of.says(other) && other.says(of) }
	}
	for _, relation := range r.Base.Names {
		if slices.ContainsFunc(r.Related, same(relation)) && !slices.ContainsFunc(r.Sent.Names, same(relation)) {
			r.dropRelated(relation)
		}
	}
	for _, relation := range r.Sent.Names {
		if !slices.ContainsFunc(r.Base.Names, same(relation)) {
			r.absorbRelated(relation)
		}
	}
}
