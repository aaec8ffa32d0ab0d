package people

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// MaxPositions is how many positions one person holds.
const MaxPositions = 50

// JobDraft is a position as callers write it. Its dates are partial: YYYY, YYYY-MM,
// YYYY-MM-DD or empty.
type JobDraft struct {
	Organization, Title, StartedOn, EndedOn string
	// Past marks a position that ended on an unknown day.
	Past bool
}

// position parses a draft; errors name the field. A position without an end is current, unless it is marked as past.
func (d JobDraft) position(field string) (Position, error) {
	p := Position{
		Organization: text.Line(d.Organization), Title: text.Line(d.Title), StartedOn: d.StartedOn, EndedOn: d.EndedOn, Current: d.EndedOn == "" && !d.Past,
	}
	if p.Organization == "" && p.Title == "" {
		return p, fault.InvalidField(field, "needs an organization or a title")
	}
	if err := CheckPartialDate(field+".started_on", p.StartedOn); err != nil {
		return p, err
	}
	if err := CheckPartialDate(field+".ended_on", p.EndedOn); err != nil {
		return p, err
	}
	if common := min(len(p.StartedOn), len(p.EndedOn)); p.EndedOn[:common] < p.StartedOn[:common] {
		return p, fault.InvalidField(field+".ended_on", "%s lies before started_on, %s", p.EndedOn, p.StartedOn)
	}
	return p, nil
}

// replaceJobs sets the positions. A position that keeps its organisation and title stays the
// same row. Errors name the fields positions[0], positions[1] and so on.
func (c *Connection) replaceJobs(drafts []JobDraft) error {
	held := slices.Clone(c.Positions)
	c.Positions = make([]Position, 0, len(drafts))
	for i, d := range drafts {
		p, err := d.position(fmt.Sprintf("positions[%d]", i))
		if err != nil {
			return err
		}
		at := slices.IndexFunc(held, func(h Position) bool { return h.Organization == p.Organization && h.Title == p.Title })
		if at >= 0 {
			same := held[at]
			same.StartedOn, same.EndedOn, same.Current = p.StartedOn, p.EndedOn, p.Current
			p, held = same, slices.Delete(held, at, at+1)
		}
		c.Positions = append(c.Positions, p)
	}
	return nil
}

// addJobs adds the drafts of a field. A draft with the same organisation and title as an
// existing position sets that position's dates.
func (c *Connection) addJobs(field string, drafts []JobDraft) error {
	for i, d := range drafts {
		p, err := d.position(fmt.Sprintf("%s[%d]", field, i))
		if err != nil {
			return err
		}
		c.addJob(p)
	}
	return nil
}

// addJob adds a position, or changes the existing one. A current one becomes the primary
// one: the former primary position ends when it starts, and other current positions
// continue.
func (c *Connection) addJob(p Position) {
	at := slices.IndexFunc(c.Positions, p.isOf)
	if at >= 0 {
		held := c.Positions[at]
		held.StartedOn, held.EndedOn, held.Current = cmp.Or(p.StartedOn, held.StartedOn), p.EndedOn, p.Current
		if !held.Current || c.Positions[at].Current {
			c.Positions[at] = held
			return
		}
		c.Positions, p = slices.Delete(c.Positions, at, at+1), held
	}
	if !p.Current {
		c.Positions = append(c.Positions, p)
		return
	}
	if former := slices.IndexFunc(c.Positions, func(held Position) bool { return held.Current }); former >= 0 {
		c.Positions[former].Current = false
		if p.StartedOn >= c.Positions[former].StartedOn {
			c.Positions[former].EndedOn = p.StartedOn
		}
	}
	c.Positions = append([]Position{p}, c.Positions...)
}

// removeJobs removes the positions that match a draft in every field that the draft names.
func (c *Connection) removeJobs(drafts []JobDraft) {
	for _, d := range drafts {
		organization, title := NormalOrganization(text.Line(d.Organization)), text.Fold(text.Line(d.Title))
		if organization == "" && title == "" {
			continue
		}
		c.Positions = slices.DeleteFunc(c.Positions, func(p Position) bool {
			return (organization == "" || NormalOrganization(p.Organization) == organization) && (title == "" || text.Fold(p.Title) == title) &&
				(d.StartedOn == "" || p.StartedOn == d.StartedOn) && (d.EndedOn == "" || p.EndedOn == d.EndedOn)
		})
	}
}

// isOf reports whether a written position matches a stored one: organisation and title are
// equal where the draft names them, and both are current or the starts agree.
func (p Position) isOf(held Position) bool {
	if p.Organization != "" && NormalOrganization(p.Organization) != NormalOrganization(held.Organization) ||
		p.Title != "" && text.Fold(p.Title) != text.Fold(held.Title) {
		return false
	}
	switch {
	case p.Current && held.Current:
		return true
	case p.Current:
		return p.StartedOn != "" && p.StartedOn == held.StartedOn
	default:
		return p.StartedOn == held.StartedOn || p.StartedOn == "" || held.StartedOn == ""
	}
}
