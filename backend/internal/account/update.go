package account

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

// change.Profile is the object kind of a member's profile in changes; its id is the member's.
// The states are whole Profiles, and restoring one replaces the profile. So an undo shows only
// what the member had chosen to show before. If the profile was changed on the settings page
// since, that is a conflict, as with any other object.

// Patch has the changes of a profile that an agent may make; nil fields and empty lists change
// nothing.
type Patch struct {
	Name, Headline, Bio, Location, Organization, Title *string
	Skills                                             []string
	// Hide are fields to make private.
	Hide []string
	// Listed may only be false.
	Listed *bool
}

// Update changes the member's profile on behalf of an agent. It can change texts and hide
// fields, and refuses to show more. It returns the profile and the id of the change, which is
// empty if nothing changed.
func Update(ctx context.Context, w *db.Tx, p Patch) (*Profile, string, error) {
	if err := p.check(); err != nil {
		return nil, "", err
	}
	before, err := GetOwnProfile(ctx, w)
	if err != nil {
		return nil, "", err
	}
	after := before.clone()
	p.apply(after)
	if err := after.Check(); err != nil {
		return nil, "", err
	}
	same := before.clone()
	if err := same.Check(); err == nil && reflect.DeepEqual(same, after) { // an empty list may be written in two ways
		return before, "", nil
	}
	if err := ReplaceProfile(ctx, w, after); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed the member's own profile", history.Profile, string(after.MemberID), before, after))
	return after, changeID, err
}

// check rejects changes that only the member may make.
func (p Patch) check() error {
	if p.Listed != nil && *p.Listed {
		return fault.InvalidField("listed", "an agent can take the page out of the directory, but only the member can put it in: on their settings page")
	}
	if slices.Contains(p.Hide, FieldName) {
		return fault.InvalidField("hide", "a page always shows its name: pass listed false to leave the directory; the member hides the whole page on their settings page")
	}
	return nil
}

func (p Patch) apply(to *Profile) {
	for _, f := range []struct{ field, value *string }{
		{&to.Name, p.Name}, {&to.Headline, p.Headline}, {&to.Bio, p.Bio}, {&to.LocationText, p.Location},
		{&to.Organization, p.Organization}, {&to.Title, p.Title},
	} {
		if f.value != nil {
			*f.field = *f.value
		}
	}
	if to.LocationText == "" && p.Location != nil {
		to.Country = ""
	}
	if len(p.Skills) > 0 {
		to.Skills = p.Skills
	}
	for _, field := range p.Hide {
		if to.FieldVisibility[field] != "" {
			to.FieldVisibility[field] = Private
		}
	}
	if p.Listed != nil {
		to.Listed = false
	}
}

// clone returns a copy that shares no list with p.
func (p *Profile) clone() *Profile {
	out := *p
	out.Skills, out.Languages, out.OpenTo = slices.Clone(p.Skills), slices.Clone(p.Languages), slices.Clone(p.OpenTo)
	out.Links, out.FieldVisibility = slices.Clone(p.Links), maps.Clone(p.FieldVisibility)
	return &out
}
