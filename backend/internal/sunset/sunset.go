// Package sunset owns the rule about removals of deprecated paths: how long before
// a removal it must be announced. It does not know the paths; the edge does.
package sunset

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
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

// announceSunset stores the first announcement of a route's removal, and the latest
// date.
const announceSunset = `INSERT INTO sunsets (route, first_announced_at, sunset_at) VALUES (?, ?, ?)
ON CONFLICT (route) DO UPDATE SET
sunset_at = CASE WHEN excluded.sunset_at > sunsets.sunset_at THEN excluded.sunset_at ELSE sunsets.sunset_at END
RETURNING first_announced_at, sunset_at`

// AnnounceSunset announces the removal of a route, and returns when its removal was
// first announced. A date that breaks the rule of package sunset is refused
// (fault.Invalid) and changes nothing.
func Announce(ctx context.Context, s *db.DB, route string, at time.Time) (first time.Time, err error) {
	at = at.UTC().Truncate(time.Microsecond)
	kept := Announcement{Route: route}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := tx.NewRaw(announceSunset, route, s.Now(), at).Scan(ctx, &kept.FirstAt, &kept.SunsetAt); err != nil {
			return err
		}
		return kept.Check(at)
	})
	return kept.FirstAt.UTC(), err
}

// RPC implements SunsetService.
type RPC struct{ DB *db.DB }

func (h *RPC) AnnounceSunset(ctx context.Context, req *sunsetv1.AnnounceSunsetRequest) (*sunsetv1.AnnounceSunsetResponse, error) {
	first, err := Announce(ctx, h.DB, req.GetRoute(), req.GetSunsetAt().AsTime())
	if err != nil {
		return nil, err
	}
	return &sunsetv1.AnnounceSunsetResponse{FirstAnnouncedAt: call.Timestamp(first)}, nil
}
