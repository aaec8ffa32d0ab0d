package connection

import (
	"context"
	"reflect"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Limits of one connection.
const (
	maxHandlesOfKind = 20
	maxTags          = 50
)

// Patch is what to change of a connection; nil fields stay as they are.
type Patch struct {
	ID string
	// ExpectedVersion refuses the patch when the connection has another one.
	ExpectedVersion                                                   *int32
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow *string
	Starred                                                           *bool
	// Emails, Phones, URLs and Tags replace the list on file unless empty.
	Emails, Phones, URLs, Tags Edit
}

// Edit is what to change of a list: Replace first, then Remove, then Add.
type Edit struct{ Replace, Add, Remove []string }

// Update changes a connection. A patch that changes nothing writes nothing.
func Update(ctx context.Context, w Writer, p Patch) (Written, error) {
	before, err := w.GetConnection(ctx, p.ID)
	if err != nil {
		return Written{}, err
	}
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return Written{}, fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again and decide anew", p.ID, before.Version, *p.ExpectedVersion)
	}
	after := before.clone()
	p.apply(after)
	if err := after.check(); err != nil {
		return Written{}, err
	}
	if err := after.checkLimits(); err != nil {
		return Written{}, err
	}
	if reflect.DeepEqual(before, after) {
		return Written{Connection: before}, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := w.ReplaceConnection(ctx, after); err != nil {
		return Written{}, err
	}
	changeID, err := w.Record(ctx, change.Draft{ObjectKind: ObjectKind, ObjectID: p.ID, Before: before, After: after})
	return Written{Connection: after, ChangeID: changeID}, err
}

func (p Patch) apply(c *Connection) {
	set := func(field *string, value *string, clean func(string) string) {
		if value != nil {
			*field = clean(*value)
		}
	}
	set(&c.Name, p.Name, text.Line)
	set(&c.Nickname, p.Nickname, text.Line)
	set(&c.Location, p.Location, text.Line)
	set(&c.Bio, p.Bio, text.Clean)
	set(&c.MetOn, p.MetOn, text.Line)
	set(&c.MetHow, p.MetHow, text.Line)
	if p.Starred != nil {
		c.Starred = *p.Starred
	}
	p.applyPosition(c)
	c.editHandles(KindEmail, p.Emails)
	c.editHandles(KindPhone, p.Phones)
	c.editHandles(KindURL, p.URLs)
	if len(p.Tags.Replace) > 0 {
		c.Tags = nil
		c.addTags(p.Tags.Replace)
	}
	c.removeTags(p.Tags.Remove)
	c.addTags(p.Tags.Add)
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

// retitle changes the title of the current position, which goes on.
func (c *Connection) retitle(title string) {
	for i := range c.Positions {
		if c.Positions[i].Current {
			c.Positions[i].Title = title
			return
		}
	}
}

func (c *Connection) editHandles(kind string, e Edit) {
	if len(e.Replace) > 0 {
		kept := c.Handles[:0:0]
		for _, h := range c.Handles {
			if h.Kind != kind {
				kept = append(kept, h)
			}
		}
		c.Handles = kept
		c.addHandles(kind, e.Replace)
	}
	c.removeHandles(kind, e.Remove)
	c.addHandles(kind, e.Add)
}

func (c *Connection) checkLimits() error {
	for _, kind := range []string{KindEmail, KindPhone, KindURL} {
		if len(c.Values(kind)) > maxHandlesOfKind {
			return fault.InvalidField(kind+"s", "one person holds %d at most", maxHandlesOfKind)
		}
	}
	if len(c.Tags) > maxTags {
		return fault.InvalidField("tags", "one person holds %d at most", maxTags)
	}
	return nil
}
