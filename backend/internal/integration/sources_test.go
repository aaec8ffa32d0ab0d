package integration_test

import (
	"context"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/sources"
)

// arrangeSource adds a calendar with a meeting of a person that is ahead and a stranger. Their texts contain the word. It returns the id of
// the source.
func arrangeSource(ctx context.Context, u *db.Tx, connectionID, word string) (string, error) {
	src := &sources.Source{
		TenantID: u.TenantID(), ID: id.New(id.Source), Kind: sources.Calendar, Name: word, Host: word, Address: word, State: sources.On, Since: u.Now(), ImportID: id.New(id.Import), NextAt: u.Now(), CreatedAt: u.Now(),
	}
	meeting := &sources.Meeting{
		TenantID: u.TenantID(), SourceID: src.ID, Key: word, StartsAt: u.Now().Add(time.Hour), EndsAt: u.Now().Add(2 * time.Hour), Title: word, ConnectionIDs: []string{connectionID},
	}
	stranger := &sources.Stranger{TenantID: u.TenantID(), SourceID: src.ID, Email: "stranger@example.com", Name: word, Meetings: 1, LastAt: u.Now()}
	for _, row := range []any{src, meeting, stranger} {
		if _, err := u.NewInsert().Model(row).Exec(ctx); err != nil {
			return "", err
		}
	}
	_, err := u.NewRaw(`INSERT INTO source_cards (tenant_id, source_id, key, etag, hash, connection_id, photo, card, gone, problem)
VALUES (?0, ?1, ?3, '', '', ?2, '', ?4, ?5, ?3)`, u.TenantID(), src.ID, connectionID, word, []byte(word), false).Exec(ctx)
	return src.ID, err
}

// sourceReads are the reads of calendars.
func sourceReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"Get": func(ctx context.Context, v victim) (any, error) {
			_, err := sources.Get(ctx, data, v.source)
			all, listErr := sources.List(ctx, data)
			return []any{all, listErr}, err
		},
		"Strangers": func(ctx context.Context, v victim) (any, error) { return sources.Strangers(ctx, data, v.source, 50) },
		"Ahead": func(ctx context.Context, _ victim) (any, error) {
			return sources.Ahead(ctx, data, time.Now().AddDate(-1, 0, 0), time.Now().AddDate(1, 0, 0))
		},
		"ListAhead": func(ctx context.Context, v victim) (any, error) {
			return sources.ListAhead(ctx, data, sources.AheadQuery{Now: time.Now().AddDate(-1, 0, 0), Until: time.Now().AddDate(1, 0, 0), ConnectionID: v.connection, Limit: 50})
		},
		"CountAhead": func(ctx context.Context, _ victim) (any, error) {
			return sources.CountAhead(ctx, data, time.Now().AddDate(-1, 0, 0), time.Now().AddDate(1, 0, 0))
		},
		"LivePeople": func(ctx context.Context, v victim) (any, error) {
			return dav.LivePeople(ctx, data, []string{v.connection})
		},
		"NextWith": func(ctx context.Context, v victim) (any, error) {
			return sources.NextWith(ctx, data, time.Now().AddDate(-1, 0, 0), []string{v.connection})
		},
	}
}

// sourceWrites are the writes of calendars.
func sourceWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"Remove": func(ctx context.Context, v victim) (any, error) {
			return nil, errors.Join(sources.Remove(ctx, u, v.source), sources.Start(ctx, u, v.source), sources.Pause(ctx, u, v.source), sources.SyncNow(ctx, u, v.source))
		},
		"Dismiss": func(ctx context.Context, v victim) (any, error) {
			return nil, sources.Dismiss(ctx, u, v.source, []string{"stranger@example.com"})
		},
		"AddPeople": func(ctx context.Context, v victim) (any, error) {
			return nil, sources.AddPeople(ctx, u, v.source, []string{"stranger@example.com"})
		},
	}
}
