package people

import (
	"context"
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

// Revise makes the changes between two versions of a card to the person of whom the cards are, who is not archived: base is the
// version that a device got, sent the one that it sent back. What is the same in both stays as it is stored. A device may not know
// tags, accounts, other people, custom fields or kept properties: if sent has none of a kind at all, those of the kind stay.
// Groups never change. It writes nothing if nothing changes.
func Revise(ctx context.Context, w *db.Tx, stored *Connection, base, sent *Card) (Written, error) {
	after := stored.clone()
	r := revision{after, base, sent}
	typed := after.HasTypedLocation()
	r.texts()
	r.handles()
	r.positions()
	r.tags()
	r.dates()
	after.Addresses = reviseList(after.Addresses, base.Addresses, sent.Addresses, func(a, b Address) bool { return a == b })
	if len(sent.Accounts) > 0 {
		after.Accounts = reviseList(after.Accounts, base.Accounts, sent.Accounts, func(a, b Account) bool { return a == b })
	}
	for _, v := range sent.Fields {
		if !slices.Contains(base.Fields, v) {
			after.putField(v)
		}
	}
	r.kept()
	r.related()
	switch was, is := base.HasTypedLocation(), sent.HasTypedLocation(); {
	case is && (!was || base.Location != sent.Location):
		after.Location = sent.Location
	case !typed || was && !is:
		after.Location = after.derivedPlace()
	}
	if base.Photo != sent.Photo {
		after.Photo = sent.Photo
	}
	if err := after.check(); err != nil {
		return Written{}, err
	}
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

// revision makes the changes between base and sent to a person.
type revision struct {
	*Connection

	base, sent *Card
}

func (r revision) texts() {
	base, sent := r.base.texts(), r.sent.texts()
	for i, t := range r.Connection.texts() {
		if t.name != "location" && *base[i].value != *sent[i].value {
			*t.value = *sent[i].value
		}
	}
	wholeName := r.NameParts.IsZero() && r.sent.NameParts == NameParts{Given: r.Name} // what a device makes of a name without parts
	parts, before, after := r.NameParts.All(), r.base.NameParts.All(), r.sent.NameParts.All()
	for i := range parts {
		if !wholeName && *before[i].Value != *after[i].Value {
			*parts[i].Value = *after[i].Value
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
	changed := reviseList(r.Handles, r.base.Handles, r.sent.Handles, Handle.same)
	for i := range changed {
		h := &changed[i]
		of := func(list []Handle) Handle {
			if at := slices.IndexFunc(list, h.same); at >= 0 {
				return list[at]
			}
			return Handle{}
		}
		before, after := of(r.base.Handles), of(r.sent.Handles)
		if before.Value != after.Value {
			h.Value = after.Value
		}
		if before.Label != after.Label {
			h.Label = after.Label
		}
	}
	r.Handles = changed
}

// positions ends the current jobs that the card no longer has, and adds those that are new. A new title at the same organisation
// is the same job.
func (r revision) positions() {
	same := func(p Position) func(Position) bool {
		return func(other Position) bool {
			return other.Current && NormalOrganization(p.Organization) == NormalOrganization(other.Organization) && p.Title == other.Title
		}
	}
	var added []Position
	for _, p := range r.sent.Positions {
		if p.Current && !slices.ContainsFunc(r.base.Positions, same(p)) && !slices.ContainsFunc(r.Positions, same(p)) {
			added = append(added, p)
		}
	}
	for _, p := range r.base.Positions {
		at := slices.IndexFunc(r.Positions, same(p))
		if slices.ContainsFunc(r.sent.Positions, same(p)) || at < 0 {
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
	if len(r.sent.Tags) == 0 {
		return
	}
	r.Tags = reviseList(r.Tags, r.base.Tags, r.sent.Tags, func(a, b string) bool { return text.Fold(a) == text.Fold(b) })
}

// dates changes the dates. A date of the same kind and label that changed is the same date.
func (r revision) dates() {
	changed := reviseList(r.Dates, r.base.Dates, r.sent.Dates, ImportantDate.same)
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
	for _, k := range r.sent.Kept {
		after := named(r.sent.Kept, k.Name)
		if slices.Equal(named(r.base.Kept, k.Name), after) || slices.Equal(named(r.Kept, k.Name), after) {
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
	if len(r.sent.Names) == 0 {
		return
	}
	same := func(of Relation) func(Relation) bool {
		return func(other Relation) bool { return of.says(other) && other.says(of) }
	}
	for _, relation := range r.base.Names {
		if slices.ContainsFunc(r.Related, same(relation)) && !slices.ContainsFunc(r.sent.Names, same(relation)) {
			r.dropRelated(relation)
		}
	}
	for _, relation := range r.sent.Names {
		if !slices.ContainsFunc(r.base.Names, same(relation)) {
			r.absorbRelated(relation)
		}
	}
}
