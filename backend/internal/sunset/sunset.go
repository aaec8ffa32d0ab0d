// Package sunset owns the rule about removals of deprecated paths: how long before
// a removal it must be announced. It does not know the paths; the edge does.
package sunset

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// MinimumNotice is the least time between the first announcement of a removal and
// the removal.
const MinimumNotice = 180 * 24 * time.Hour

// Announcement is the stored record of a path's removal.
type Announcement struct {
	// Route is the name of the path's route in the edge.
	Route string
	// FirstAt is when a removal was first announced.
	FirstAt time.Time
	// SunsetAt is the latest date that was announced.
	SunsetAt time.Time
}

// Check fails with fault.Invalid if a removal at the given time is too soon after
// the first announcement, or earlier than the date announced before.
func (a Announcement) Check(at time.Time) error {
	if at.Before(a.SunsetAt) {
		return fault.New(fault.Invalid, "the removal of %s was announced for %s and cannot move to the earlier %s", a.Route, day(a.SunsetAt), day(at))
	}
	earliest := a.FirstAt.Add(MinimumNotice)
	if !at.Before(earliest) {
		return nil
	}
	if midnight := earliest.UTC().Truncate(24 * time.Hour); midnight.Before(earliest) {
		earliest = midnight.Add(24 * time.Hour)
	}
	return fault.New(fault.Invalid, "the removal of %s on %s is less than 180 days after it is first announced, on %s: the earliest date is %s",
		a.Route, day(at), day(a.FirstAt), day(earliest))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
