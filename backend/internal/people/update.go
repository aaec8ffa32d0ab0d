package people

import (
	"context"
	"reflect"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Edit says what to change of a list: Replace first, then Remove, then Add.
type Edit struct{ Replace, Add, Remove []string }

// DateEdit says what to change of the important dates: Replace (unless empty) first, then
// Remove, then Add.
type DateEdit struct{ Replace, Add, Remove []DateDraft }

// JobEdit says what to change of the positions: Replace (unless nil) first, then Remove,
// then Add.
type JobEdit struct{ Replace, Add, Remove []JobDraft }

// Update changes a connection that is not archived. A patch that changes nothing
// writes nothing.
func Update(ctx context.Context, w *db.Tx, p Patch) (Written, error) {
	before, err := live(ctx, w, p.ID)
	if err != nil {
		return Written{}, err
	}
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return Written{}, fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again before you change it", p.ID, before.Version, *p.ExpectedVersion)
	}
	after := before.clone()
	if err := p.apply(after); err != nil {
		return Written{}, err
	}
	if err := after.check(); err != nil {
		return Written{}, err
	}
	if reflect.DeepEqual(before, after) {
		return Written{Connection: before}, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceConnection(ctx, w, after); err != nil {
		return Written{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed "+after.Name, history.Connection, p.ID, before, after))
	return Written{Connection: after, ChangeID: changeID, RemovedDates: missing(before.Dates, after.Dates)}, err
}

func (p Patch) apply(c *Connection) error {
	p.applyFields(c)
	p.applyPosition(c)
	if p.Jobs.Replace != nil {
		if err := c.replaceJobs(p.Jobs.Replace); err != nil {
			return err
		}
	}
	c.removeJobs(p.Jobs.Remove)
	if err := c.addJobs("add_positions", p.Jobs.Add); err != nil {
		return err
	}
	c.editHandles(KindEmail, p.Emails)
	c.editHandles(KindPhone, p.Phones)
	c.editHandles(KindURL, p.URLs)
	c.editTags(p.Tags)
	return c.editDates(p.Dates)
}

func (p Patch) applyPosition(c *Connection) {
	if p.Organization == nil && p.Title == nil {
		return
	}
	current := c.CurrentPosition()
	organization, title := current.Organization, current.Title
	if p.Organization != nil {
		organization = text.Line(*p.Organization)
		if NormalOrganization(organization) != NormalOrganization(current.Organization) && p.Title == nil {
			title = ""
		}
	}
	if p.Title != nil {
		title = text.Line(*p.Title)
	}
	if NormalOrganization(organization) == NormalOrganization(current.Organization) && current.Current && (organization != "" || title != "") {
		c.retitle(title)
		return
	}
	c.setPosition(organization, title)
}

// retitle changes the title of the current position, which continues.
func (c *Connection) retitle(title string) {
	for i := range c.Positions {
		if c.Positions[i].Current {
			c.Positions[i].Title = title
			return
		}
	}
}

// editHandles changes the list of a kind. A handle that stays keeps its id and label, and
// handles of other kinds keep their places.
func (c *Connection) editHandles(kind string, e Edit) {
	var held []Handle
	for _, h := range c.Handles {
		if h.in(kind) {
			held = append(held, h)
		}
	}
	list := Connection{Handles: slices.Clone(held)}
	if len(e.Replace) > 0 {
		list.Handles = nil
		list.addHandles(kind, e.Replace)
	}
	list.removeHandles(kind, e.Remove)
	list.addHandles(kind, e.Add)
	kept := c.Handles[:0:0]
	for _, h := range c.Handles {
		if !h.in(kind) {
			kept = append(kept, h)
		} else if len(list.Handles) > 0 {
			kept = append(kept, list.Handles[0].closest(held))
			list.Handles = list.Handles[1:]
		}
	}
	for _, h := range list.Handles {
		kept = append(kept, h.closest(held))
	}
	c.Handles = kept
}

// closest returns the stored handle with the same address, in its current spelling, or h
// itself when there is none.
func (h Handle) closest(held []Handle) Handle {
	for _, other := range held {
		if other.NormalValue == h.NormalValue {
			other.Value = h.Value
			return other
		}
	}
	return h
}

// editTags changes the tags. Their order does not matter, and a tag that stays keeps its
// spelling.
func (c *Connection) editTags(e Edit) {
	list := Connection{Tags: slices.Clone(c.Tags)}
	if len(e.Replace) > 0 {
		list.Tags = nil
		list.addTags(e.Replace)
	}
	list.removeTags(e.Remove)
	list.addTags(e.Add)
	c.Tags = slices.DeleteFunc(c.Tags, func(tag string) bool { return !slices.ContainsFunc(list.Tags, sameTag(tag)) })
	c.addTags(list.Tags)
}
