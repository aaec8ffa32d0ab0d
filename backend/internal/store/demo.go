package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/token"
)

// Demo is everything that the sandbox shows: the members with their pages, and
// what the first of them, the demo account, keeps.
type Demo struct {
	// Day is the day (YYYY-MM-DD) that the dates are relative to.
	Day           string
	Members       []member.Member
	Profiles      []profile.Profile
	Token         token.PersonalToken
	Connections   []connection.Connection
	Organizations []connection.Organization
	TagNames      map[string]string // by tag id
	ConnectionTag [][2]string       // connection id, tag id
	Notes         []timeline.Note
	Interactions  []timeline.Interaction
	Groups        []organize.Group
	GroupMember   [][2]string // group id, connection id
	Relationships []connection.Relationship
	Reminders     []reminder.Reminder
}

// DemoDay returns the username of the demo account and the day for which it is
// seeded; both are empty before the first time.
func (s *Store) DemoDay(ctx context.Context) (username, day string, err error) {
	err = s.engine.serviceRead.NewRaw("SELECT username, seeded_for FROM sandbox_states").Scan(ctx, &username, &day)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return username, day, translate(err)
}

// CountDemo returns how many connections the demo account holds.
func (s *Store) CountDemo(ctx context.Context) (n int, err error) {
	err = s.engine.serviceRead.NewRaw(`SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id
JOIN sandbox_states s ON s.username = m.username`).Scan(ctx, &n)
	return n, translate(err)
}

// ReplaceDemo puts the demo account and its members in place of those of another
// day, in one transaction; it does nothing when the day is seeded already. The
// account ends read-only, whatever it was.
func (s *Store) ReplaceDemo(ctx context.Context, d Demo) error {
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if s.engine.name == postgresName {
			if _, err := tx.ExecContext(ctx, "LOCK TABLE sandbox_states IN EXCLUSIVE MODE"); err != nil {
				return err
			}
		}
		var day string
		err := tx.NewRaw("SELECT seeded_for FROM sandbox_states").Scan(ctx, &day)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if day == d.Day {
			return nil
		}
		return s.replaceDemo(ctx, tx, d)
	})
	if err != nil {
		return fmt.Errorf("seed the sandbox: %w", translate(err))
	}
	return nil
}

func (s *Store) replaceDemo(ctx context.Context, tx bun.Tx, d Demo) error {
	version, err := removeDemo(ctx, tx, d)
	if err != nil {
		return err
	}
	for i := range d.Members {
		if err := insertMember(ctx, tx, &d.Members[i], &d.Profiles[i], false); err != nil {
			return err
		}
	}
	if _, err := tx.NewInsert().Model(&d.Token).Exec(ctx); err != nil {
		return err
	}
	if err := insertDemoRows(ctx, tx, d, version+1); err != nil {
		return err
	}
	for _, m := range d.Members {
		if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = TRUE, data_version = ? WHERE tenant_id = ?", version+1, m.ID).Exec(ctx); err != nil {
			return err
		}
	}
	_, err = tx.NewRaw(`INSERT INTO sandbox_states (id, username, seeded_for) VALUES (1, ?, ?)
ON CONFLICT (id) DO UPDATE SET username = excluded.username, seeded_for = excluded.seeded_for`, d.Members[0].Username, d.Day).Exec(ctx)
	return err
}

// removeDemo deletes the demo members with all they have and returns the data
// version that the account had.
func removeDemo(ctx context.Context, tx bun.Tx, d Demo) (version int64, err error) {
	ids := make([]tenant.ID, len(d.Members))
	for i, m := range d.Members {
		ids[i] = m.ID
	}
	err = tx.NewRaw("SELECT data_version FROM tenant_states WHERE tenant_id = ?", ids[0]).Scan(ctx, &version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if _, err := tx.NewRaw("UPDATE tenant_states SET read_only = FALSE WHERE tenant_id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return 0, err
	}
	// The tenant's rows go first: the triggers that guard them ask for its state.
	for _, table := range ownedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id IN (?)", bun.Ident(table), bun.List(ids)).Exec(ctx); err != nil {
			return 0, err
		}
	}
	_, err = tx.NewRaw("DELETE FROM members WHERE id IN (?)", bun.List(ids)).Exec(ctx)
	return version, err
}

func insertDemoRows(ctx context.Context, tx bun.Tx, d Demo, version int64) error {
	owner := d.Members[0].ID
	var handles []connection.Handle
	var positions []connection.Position
	var dates []connection.ImportantDate
	for i := range d.Connections {
		c := &d.Connections[i]
		c.TenantID, c.DataVersion, c.FoldedName = owner, version, foldedName(c)
		handles, positions = append(handles, c.Handles...), append(positions, c.Positions...)
		dates = append(dates, c.Dates...)
	}
	tags := make([]tag, 0, len(d.TagNames))
	for id, name := range d.TagNames {
		tags = append(tags, tag{TenantID: owner, ID: id, Name: name, FoldedName: text.Fold(name)})
	}
	var tagged []connectionTag
	for _, link := range d.ConnectionTag {
		tagged = append(tagged, connectionTag{TenantID: owner, ConnectionID: link[0], TagID: link[1]})
	}
	var grouped []groupConnection
	for _, link := range d.GroupMember {
		grouped = append(grouped, groupConnection{TenantID: owner, GroupID: link[0], ConnectionID: link[1]})
	}
	var noted []noteConnection
	for _, n := range d.Notes {
		for _, c := range n.ConnectionIDs {
			noted = append(noted, noteConnection{TenantID: owner, ConnectionID: c, NoteID: n.ID})
		}
	}
	var met []interactionConnection
	for _, i := range d.Interactions {
		for _, c := range i.ConnectionIDs {
			met = append(met, interactionConnection{TenantID: owner, ConnectionID: c, InteractionID: i.ID})
		}
	}
	return errors.Join(
		insertChunks(ctx, tx, d.Organizations), insertChunks(ctx, tx, d.Connections), insertChunks(ctx, tx, handles),
		insertChunks(ctx, tx, positions), insertChunks(ctx, tx, tags), insertChunks(ctx, tx, tagged),
		insertChunks(ctx, tx, d.Notes), insertChunks(ctx, tx, noted),
		insertChunks(ctx, tx, d.Interactions), insertChunks(ctx, tx, met),
		insertChunks(ctx, tx, dates), insertChunks(ctx, tx, d.Groups), insertChunks(ctx, tx, grouped),
		insertChunks(ctx, tx, d.Relationships), insertChunks(ctx, tx, d.Reminders),
	)
}

// insertChunks inserts rows in statements of a few hundred each.
func insertChunks[T any](ctx context.Context, tx bun.Tx, rows []T) error {
	for chunk := range slices.Chunk(rows, 300) {
		if _, err := tx.NewInsert().Model(&chunk).Exec(ctx); err != nil {
			return fmt.Errorf("insert %T: %w", chunk, err)
		}
	}
	return nil
}
