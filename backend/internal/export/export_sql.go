package export

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
)

// How many rows of a table an export reads at a time. It reads fewer changes, since the
// change of an import step holds a few hundred people.
const (
	exportPage        = 500
	exportPageChanges = 20
)

// Export calls each with every object of the tenant: connections (archived ones too),
// organisations, groups, relationships, pairs of people who are not the same, reminders,
// notes, interactions, saved views and changes, each kind in the order of its ids. It holds no transaction
// while each runs, so a slow reader blocks no one. Data that is written meanwhile may or may not be
// included, but every object is complete. An error from each ends the export. Jobs and the files that wait for
// them are temporary and are left out.
func Export(ctx context.Context, q db.Reader, each func(object any) error) error {
	for _, pages := range []func() error{
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []people.Connection) error { return people.FillConnections(ctx, q, a1) }, connectionID, each)
		},
		func() error { return exportTable(ctx, q, exportPage, nil, organizationID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, groupID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, relationshipID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, distinctPairID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, reminderID, each) },
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []timeline.Note) error { return timeline.FillNotes(ctx, q, a1) }, timeline.NoteID, each)
		},
		func() error {
			return exportTable(ctx, q, exportPage, func(ctx context.Context, a1 []timeline.Interaction) error {
				return timeline.FillInteractions(ctx, q, a1)
			}, timeline.InteractionID, each)
		},
		func() error { return exportTable(ctx, q, exportPage, nil, viewID, each) },
		func() error { return exportTable(ctx, q, exportPageChanges, nil, changeID, each) },
	} {
		if err := pages(); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}

func connectionID(c *people.Connection) string     { return c.ID }
func organizationID(o *people.Organization) string { return o.ID }
func groupID(g *groups.Group) string               { return g.ID }
func relationshipID(r *people.Relationship) string { return r.ID }
func distinctPairID(p *people.DistinctPair) string { return p.ID }
func reminderID(r *reminders.Reminder) string      { return r.ID }
func viewID(v *views.View) string                  { return v.ID }
func changeID(c *history.Change) string            { return c.ID }

// exportTable reads one table page by page, fills each page with the lists of its rows,
// and passes the rows on.
func exportTable[T any](
	ctx context.Context, q db.Reader, page int, fill func(context.Context, []T) error, id func(*T) string, each func(any) error,
) error {
	for after := ""; ; {
		var rows []T
		if err := q.From(&rows).Where("id > ?", after).Order("id").Limit(int64(page)).Scan(ctx); err != nil {
			return err
		}
		if fill != nil && len(rows) > 0 {
			if err := fill(ctx, rows); err != nil {
				return err
			}
		}
		for i := range rows {
			after = id(&rows[i])
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}
