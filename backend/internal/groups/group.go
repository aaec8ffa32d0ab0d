package groups

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// MaxGroups limits how many groups a member has, and how many tags a list shows.
const (
	MaxGroups = 200
	MaxTags   = 200
)

// Group is a set of people that the member keeps together, and its database row.
type Group struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Name     string    `json:"name"`
	// FoldedName is Name, folded for comparison; it is unique within the tenant.
	FoldedName  string `json:"-"`
	Description string `json:"description"`
	// CadenceDays is the keep-in-touch interval; 0 when there is none.
	CadenceDays int `json:"cadence_days"`
	// Version grows by one with each change (optimistic locking).
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// People is how many people are in the group, without archived ones.
	People int `bun:",scanonly" json:"-"`
}

// Tag is a word that people are marked with, and how many people have it, without archived
// ones.
type Tag struct {
	Name   string
	People int
}

// Patch says what to change of a group, or what a new group has. Nil fields leave their
// value unchanged.
type Patch struct {
	// ID is the group to change; empty means the group with the name or, if there is none,
	// a new one.
	ID          string
	Name        *string
	Description *string
	CadenceDays *int
	// ExpectedVersion makes the patch fail when the group has another version.
	ExpectedVersion *int32
}

// Saved is the result of Save.
type Saved struct {
	Group   *Group
	Created bool
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Save creates a group or changes one. A patch that changes nothing writes nothing.
func Save(ctx context.Context, w *db.Tx, p Patch) (Saved, error) {
	groups, err := ListGroups(ctx, w)
	if err != nil {
		return Saved{}, err
	}
	if p.Name != nil {
		p.Name = new(text.Line(*p.Name))
		if !text.Visible(*p.Name) {
			return Saved{}, fault.InvalidField("name", "must hold at least one visible character")
		}
	}
	before, err := p.target(groups)
	if err != nil {
		return Saved{}, err
	}
	if before == nil {
		return p.create(ctx, w, groups)
	}
	counted, err := GetGroup(ctx, w, before.ID)
	if err != nil {
		return Saved{}, err
	}
	return p.update(ctx, w, *counted, groups)
}

// target returns the group that the patch is about; nil for a new one.
func (p Patch) target(groups []Group) (*Group, error) {
	if p.ID != "" {
		return Find(groups, p.ID)
	}
	if g := byName(groups, *p.Name); g != nil {
		return g, nil
	}
	if p.ExpectedVersion != nil {
		return nil, unknown(groups, *p.Name)
	}
	return nil, nil
}

func (p Patch) create(ctx context.Context, w *db.Tx, groups []Group) (Saved, error) {
	if len(groups) >= MaxGroups {
		return Saved{}, fault.InvalidField("name", "there are %d groups already, and no more can be made", MaxGroups)
	}
	if id.Valid(id.Group, *p.Name) {
		return Saved{}, fault.InvalidField("name", "is a group's id; pass it as id")
	}
	g := &Group{Version: 1, CreatedAt: w.Now(), UpdatedAt: w.Now()}
	p.apply(g)
	if err := InsertGroup(ctx, w, g); err != nil {
		return Saved{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Made the group "+g.Name, history.Group, g.ID, nil, g))
	return Saved{Group: g, Created: true, ChangeID: changeID}, err
}

func (p Patch) update(ctx context.Context, w *db.Tx, before Group, groups []Group) (Saved, error) {
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return Saved{}, fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again before you change it", before.ID, before.Version, *p.ExpectedVersion)
	}
	after := before
	if p.ID == "" {
		p.Name = nil // the name identified the group, perhaps in another spelling
	} else if p.Name != nil {
		if other := byName(groups, *p.Name); other != nil && other.ID != before.ID {
			return Saved{}, fault.New(fault.AlreadyExists, "another group is called %s: %s", text.Quote(other.Name), other.ID)
		}
	}
	p.apply(&after)
	if after == before {
		return Saved{Group: &before}, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceGroup(ctx, w, &after); err != nil {
		return Saved{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed the group "+after.Name, history.Group, after.ID, before, after))
	return Saved{Group: &after, ChangeID: changeID}, err
}

func (p Patch) apply(g *Group) {
	if p.Name != nil {
		g.Name, g.FoldedName = *p.Name, text.Fold(*p.Name)
	}
	if p.Description != nil {
		g.Description = text.Clean(*p.Description)
	}
	if p.CadenceDays != nil {
		g.CadenceDays = *p.CadenceDays
	}
}

// Find returns the group with an id or a name. It fails with fault.NotFound, which lists
// the nearest names.
func Find(groups []Group, idOrName string) (*Group, error) {
	for i := range groups {
		if groups[i].ID == idOrName {
			return &groups[i], nil
		}
	}
	if id.Valid(id.Group, idOrName) {
		return nil, noGroup(idOrName)
	}
	if g := byName(groups, idOrName); g != nil {
		return g, nil
	}
	return nil, unknown(groups, idOrName)
}

// noGroup returns the error for an unknown group id.
func noGroup(groupID string) error {
	return fault.New(fault.NotFound, "there is no group %s; list_groups returns ids", groupID)
}

func byName(groups []Group, name string) *Group {
	folded := text.Fold(name)
	for i := range groups {
		if groups[i].FoldedName == folded {
			return &groups[i]
		}
	}
	return nil
}

// unknown returns the error for an unknown group name, with the nearest names.
func unknown(groups []Group, name string) error {
	if len(groups) == 0 {
		return fault.New(fault.NotFound, "there is no group %q, nor any other; save_group makes one", name)
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
	}
	return fault.New(fault.NotFound, "there is no group %q%s", name, text.Nearest(context.Background(), names, name))
}
