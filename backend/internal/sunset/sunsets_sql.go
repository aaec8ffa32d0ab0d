package sunset

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

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
