package integration_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// ownWord drops an error that repeats the name that the attacker asked for.
func ownWord(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// partReads are the functions with which features read each other's rows.
func partReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"Live": func(ctx context.Context, v victim) (any, error) { return nil, people.Live(ctx, data, v.connection) },
		"Portrayed": func(ctx context.Context, v victim) (any, error) {
			return insights.Portrayed(ctx, data, []string{v.connection})
		},
		"People": func(ctx context.Context, v victim) (any, error) {
			return people.People(ctx, data, "note_connections", "note_id", []string{v.note})
		},
		"Positions": func(ctx context.Context, v victim) (any, error) {
			var rows []people.Position
			err := people.Positions(data, &rows).Where("?TableAlias.connection_id = ?", v.connection).Scan(ctx)
			return rows, err
		},
		"FillConnections": func(ctx context.Context, v victim) (any, error) {
			filled := []people.Connection{{ID: v.connection}}
			err := people.FillConnections(ctx, data, filled)
			return filled, err
		},
		"GetConnections": func(ctx context.Context, v victim) (any, error) {
			return people.GetConnections(ctx, data, []string{v.connection})
		},
		"ListNamed": func(ctx context.Context, _ victim) (any, error) {
			return people.ListNamed(ctx, data, []string{secret})
		},
		"FindDeletions": func(ctx context.Context, v victim) (any, error) {
			found, err := history.FindDeletions(ctx, data, []string{v.binned})
			if len(found) > 0 {
				return nil, fmt.Errorf("the victim's %s shows: %v", secret, found)
			}
			return found, err
		},
		"FindOrganization": func(ctx context.Context, _ victim) (any, error) {
			found, err := people.FindOrganization(ctx, data, secret)
			return found, ownWord(err)
		},
		"Details": func(ctx context.Context, v victim) (any, error) {
			return (&people.Organization{ID: v.organization}).Details(ctx, data)
		},
		"Strengths": func(ctx context.Context, v victim) (any, error) {
			return people.Strengths(ctx, data, []string{v.connection}, time.Now())
		},
		"PersonDue": func(ctx context.Context, v victim) (any, error) {
			return reminders.PersonDue(ctx, data, v.connection)
		},
	}
}

// partWrites are the functions with which features write each other's rows.
func partWrites(u *db.Tx) map[string]attempt {
	stolen := func(v victim) []*people.Connection {
		return []*people.Connection{{TenantID: v.tenant, ID: v.connection, Name: "stolen", Version: 9, CreatedAt: u.Now(), UpdatedAt: u.Now()}}
	}
	return map[string]attempt{
		"Forget": func(ctx context.Context, v victim) (any, error) {
			return nil, history.Forget(ctx, u, []string{v.connection})
		},
		"RemoveRows": func(ctx context.Context, v victim) (any, error) {
			return people.RemoveRows(ctx, u, []string{v.connection})
		},
		"EndReminders": func(ctx context.Context, v victim) (any, error) {
			ended, err := people.EndReminders(ctx, u, v.connection)
			return len(ended), err
		},
		"CountContacts": func(ctx context.Context, v victim) (any, error) {
			return nil, people.CountContacts(ctx, u, v.connection)
		},
		"InsertPeople":  func(ctx context.Context, v victim) (any, error) { return nil, people.InsertPeople(ctx, u, stolen(v)) },
		"ReplacePeople": func(ctx context.Context, v victim) (any, error) { return nil, people.ReplacePeople(ctx, u, stolen(v)) },
		"UpdateOrganization": func(ctx context.Context, _ victim) (any, error) {
			saved, err := people.UpdateOrganization(ctx, u, people.OrganizationPatch{Name: secret, NewName: new("stolen")})
			return saved, ownWord(err)
		},
		"Tags": func(ctx context.Context, _ victim) (any, error) { return people.Tags(ctx, u, []string{"mine"}) },
	}
}
