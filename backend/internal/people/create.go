package people

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Sharing is another person who has the same address.
type Sharing struct {
	ID, Name, Nickname string
	// Kind is the kind of the address.
	Kind string
}

// What to do about a person who already exists.
const (
	OnDuplicateReturn = "return_existing"
	OnDuplicateCreate = "create"
	OnDuplicateError  = "error"
)

// Written is the result of a write.
type Written struct {
	Connection *Connection
	// DuplicateOf is the person that already existed; empty when there was none.
	DuplicateOf string
	// Sharing are people who share an address with this person, but whose names or birthdays show
	// that they are or may be other people; at most maxSharing.
	Sharing []Sharing
	// ChangeID is empty when nothing was written.
	ChangeID string
	// RemovedDates are the stored dates that the write removed.
	RemovedDates []ImportantDate
}

// Create adds a person. If the person already exists, it does what the draft's OnDuplicate
// says.
func Create(ctx context.Context, w *db.Tx, d Draft) (Written, error) {
	c, err := d.connection(w.Now())
	if err != nil {
		return Written{}, err
	}
	duplicate, strangers, err := d.findExisting(ctx, w, c)
	if err != nil {
		return Written{}, err
	}
	if duplicate != "" && d.OnDuplicate != OnDuplicateCreate {
		if d.OnDuplicate == OnDuplicateError {
			return Written{}, fault.New(fault.AlreadyExists, "%s is already stored as %s", text.Quote(c.Name), duplicate)
		}
		existing, err := GetConnection(ctx, w, duplicate)
		return Written{Connection: existing, DuplicateOf: duplicate}, err
	}
	if err := InsertConnection(ctx, w, c); err != nil {
		return Written{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Added "+c.Name, history.Connection, c.ID, nil, c))
	return Written{Connection: c, DuplicateOf: duplicate, Sharing: strangers, ChangeID: changeID}, err
}

// maxSharing limits how many people with the same address a result names.
const maxSharing = 5

// findExisting returns the id of the existing person that c duplicates, if any, and the other
// people who have an address of c. People who share an address but have different names, or may
// be relatives (Doubt), are not duplicates.
func (d Draft) findExisting(ctx context.Context, w *db.Tx, c *Connection) (duplicate string, strangers []Sharing, err error) {
	sharing, err := ListSharing(ctx, w, c)
	if err != nil {
		return "", nil, err
	}
	// A guessed name is no evidence.
	said := EvidenceOf(names.Names{Full: text.Line(d.Name), Nickname: c.Nickname}, c.Handles, c.Dates)
	namesakes, err := FindNamesakes(ctx, w, c)
	if err != nil {
		return "", nil, err
	}
	alike := DistinctIDs(slices.Concat(namesakes, IDs(sharing, func(s Sharing) string { return s.ID })))
	if len(alike) == 0 {
		return "", nil, nil
	}
	others, err := GetConnections(ctx, w, alike)
	if err != nil {
		return "", nil, err
	}
	for _, other := range sharing {
		known := others[other.ID].Evidence()
		if names.Compatible(said.Names, known.Names) && Doubt(&said, &known) == "" {
			return other.ID, nil, nil
		}
		told := func(s Sharing) bool { return s.ID == other.ID }
		if len(strangers) < maxSharing && !slices.ContainsFunc(strangers, told) {
			strangers = append(strangers, other)
		}
	}
	for _, id := range namesakes {
		if known := others[id].Evidence(); Doubt(&said, &known) == "" {
			return id, strangers, nil
		}
	}
	return "", strangers, nil
}

func (d Draft) connection(now time.Time) (*Connection, error) {
	c := d.fields()
	c.Version, c.CreatedAt, c.UpdatedAt = 1, now, now
	c.addHandles(KindEmail, d.Emails)
	c.addHandles(KindPhone, d.Phones)
	c.addHandles(KindURL, d.URLs)
	c.addTags(d.Tags)
	if err := c.addDates("important_dates", d.Dates); err != nil {
		return nil, err
	}
	c.setPosition(text.Line(d.Organization), text.Line(d.Title))
	if err := c.addJobs("positions", d.Jobs); err != nil {
		return nil, err
	}
	if c.Name == "" {
		c.Name = GuessName(c.Handles)
	}
	return c, c.check()
}

func (c *Connection) addHandles(kind string, values []string) {
	for _, value := range values {
		value = text.Line(value)
		normal := NormalValue(kind, value)
		same := func(h Handle) bool { return h.in(kind) && h.NormalValue == normal }
		if normal == "" || slices.ContainsFunc(c.Handles, same) {
			continue
		}
		c.Handles = append(c.Handles, Handle{Kind: kind, Value: value, NormalValue: normal})
	}
}

func (c *Connection) removeHandles(kind string, values []string) {
	for _, value := range values {
		normal := NormalValue(kind, text.Line(value))
		c.Handles = slices.DeleteFunc(c.Handles, func(h Handle) bool {
			return h.in(kind) && h.NormalValue == normal
		})
	}
}

func (c *Connection) removeTags(tags []string) {
	for _, tag := range tags {
		c.Tags = slices.DeleteFunc(c.Tags, sameTag(tag))
	}
}

// setPosition makes organisation and title the primary position and ends the former one.
// Other current positions continue. With both empty, no new position is added.
func (c *Connection) setPosition(organization, title string) {
	if at := slices.IndexFunc(c.Positions, func(p Position) bool { return p.Current }); at >= 0 {
		c.Positions[at].Current = false
	}
	if organization == "" && title == "" {
		return
	}
	p := Position{Organization: organization, Title: title, Current: true}
	if at := slices.IndexFunc(c.Positions, p.continues); at >= 0 {
		p = c.Positions[at]
		c.Positions = slices.Delete(c.Positions, at, at+1)
		if title != "" {
			p.Title = title
		}
	}
	c.Positions = append([]Position{p}, c.Positions...)
}

// continues reports whether other is a current position at the same organisation.
func (p Position) continues(other Position) bool {
	normal := NormalOrganization(p.Organization)
	return other.Current && normal != "" && NormalOrganization(other.Organization) == normal
}
