package timeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// interactionRestorer restores interactions with their participants, and recounts the last
// contact of those.
type interactionRestorer struct{ tx *db.Tx }

// interaction returns an interaction with its participants, archived ones too, or nil.
func interaction(ctx context.Context, q db.Reader, id string) (*Interaction, error) {
	i := &Interaction{}
	err := q.From(i).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	interactions := []Interaction{*i}
	err = FillInteractions(ctx, q, interactions)
	return &interactions[0], err
}

// restore restores an interaction to a state that is not null.
func (r interactionRestorer) restore(ctx context.Context, id string, to json.RawMessage) error {
	var i Interaction
	if err := json.Unmarshal(to, &i); err != nil {
		return fmt.Errorf("read recorded interaction: %w", err)
	}
	i.ID = id
	if err := r.check(ctx, id, &i); err != nil {
		return err
	}
	present, err := interaction(ctx, r.tx, id)
	if err != nil {
		return err
	}
	return replaceInteraction(ctx, r.tx, present, &i)
}

// replaceInteraction stores an interaction in place of the existing one, with its
// participants, and recounts the last contact of both sets of participants. present is nil
// when there is no interaction yet, and i is nil to delete it; at least one of them is not
// nil.
func replaceInteraction(ctx context.Context, tx *db.Tx, present, i *Interaction) (err error) {
	var participants []string
	if present != nil {
		participants = slices.Clone(present.ConnectionIDs)
		if err := tx.Delete(ctx, (*InteractionConnection)(nil), "interaction_id = ?", present.ID); err != nil {
			return err
		}
	}
	switch {
	case i != nil:
		participants = append(participants, i.ConnectionIDs...)
		i.TenantID = tx.TenantID()
		err = putInteraction(ctx, tx, i)
	case present != nil:
		wordindex.Mark(tx, present.ID)
		err = tx.Delete(ctx, (*Interaction)(nil), "id = ?", present.ID)
	}
	if err != nil {
		return err
	}
	return people.CountContacts(ctx, tx, participants...)
}

// check returns an error that says why an interaction cannot be restored.
func (r interactionRestorer) check(ctx context.Context, id string, i *Interaction) error {
	if err := people.NeedConnections(ctx, r.tx, i.ConnectionIDs...); err != nil || i.ExternalKey == "" {
		return err
	}
	other, err := FindInteraction(ctx, r.tx, i.ExternalKey)
	if err == nil && other != nil && other.ID != id {
		err = fault.New(fault.Conflict, "%s has its external_key now", other.ID)
	}
	return err
}

// putInteraction stores an interaction in place of the one with its id, if any.
func putInteraction(ctx context.Context, tx *db.Tx, i *Interaction) error {
	_, err := tx.NewInsert().Model(i).
		On("CONFLICT (tenant_id, id) DO UPDATE").
		Set("kind = EXCLUDED.kind").Set("occurred_at = EXCLUDED.occurred_at").Set("occurred_local = EXCLUDED.occurred_local").
		Set("duration_minutes = EXCLUDED.duration_minutes").Set("summary = EXCLUDED.summary").
		Set("external_key = EXCLUDED.external_key").Exec(ctx)
	if err != nil {
		return fmt.Errorf("replace interaction: %w", err)
	}
	return linkInteraction(ctx, tx, i)
}

// RestoreInteraction returns the restorer of interactions.
func RestoreInteraction(tx *db.Tx) history.Restorer { return interactionRestorer{tx} }

// Current implements history.Restorer.
func (r interactionRestorer) Current(ctx context.Context, ids []string) (map[string]any, error) {
	var rows []Interaction
	if err := r.tx.From(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	out := make(map[string]any, len(rows))
	err := FillInteractions(ctx, r.tx, rows)
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, err
}

// Restore implements history.Restorer. It removes interactions with one call and restores
// others one by one.
func (r interactionRestorer) Restore(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	gone := history.TakeRemovals(to)
	conflicts, err := history.Single{Put: r.restore}.Restore(ctx, to)
	if err != nil || len(gone) == 0 {
		return conflicts, err
	}
	wordindex.Mark(r.tx, gone...)
	persons, err := people.People(ctx, r.tx, "interaction_connections", "interaction_id", gone)
	if err != nil {
		return nil, err
	}
	if err := r.tx.Delete(ctx, (*Interaction)(nil), "id IN (?)", bun.List(gone)); err != nil {
		return nil, err
	}
	var met []string
	for _, about := range persons {
		met = append(met, about...)
	}
	return conflicts, people.CountContacts(ctx, r.tx, people.DistinctIDs(met)...)
}
