package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// interactionRestorer puts interactions back, with their participants, whose last
// contact is counted anew.
type interactionRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r interactionRestorer) Current(ctx context.Context, id string) (any, error) {
	i, err := r.u.interaction(ctx, id)
	if i == nil {
		return nil, err
	}
	return i, err
}

// interaction returns an interaction with its participants, archived ones too, or nil.
func (u *Unit) interaction(ctx context.Context, id string) (*timeline.Interaction, error) {
	i := &timeline.Interaction{}
	err := u.from(i).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	met := []timeline.Interaction{*i}
	err = u.fillInteractions(ctx, met)
	return &met[0], err
}

// Restore implements change.Restorer.
func (r interactionRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var i *timeline.Interaction
	if err := json.Unmarshal(to, &i); err != nil {
		return fmt.Errorf("read recorded interaction: %w", err)
	}
	present, err := r.u.interaction(ctx, id)
	if err != nil {
		return err
	}
	var people []string
	if i != nil {
		if err := r.check(ctx, id, i); err != nil {
			return err
		}
		people = slices.Clone(i.ConnectionIDs)
	}
	if present != nil {
		people = append(people, present.ConnectionIDs...)
		if err := r.u.delete(ctx, (*interactionConnection)(nil), "interaction_id = ?", id); err != nil {
			return err
		}
	}
	if i == nil {
		err = r.u.delete(ctx, (*timeline.Interaction)(nil), "id = ?", id)
	} else {
		i.TenantID, i.ID = r.u.id, id
		err = r.put(ctx, i)
	}
	if err != nil {
		return err
	}
	return r.u.countContacts(ctx, people...)
}

// check tells what keeps an interaction from coming back.
func (r interactionRestorer) check(ctx context.Context, id string, i *timeline.Interaction) error {
	if err := r.u.needConnections(ctx, i.ConnectionIDs...); err != nil || i.ExternalKey == "" {
		return err
	}
	other, err := r.u.FindInteraction(ctx, i.ExternalKey)
	if err == nil && other != nil && other.ID != id {
		err = fault.New(fault.Conflict, "%s has its external_key now", other.ID)
	}
	return err
}

// put keeps an interaction in place of the one with its id, if any.
func (r interactionRestorer) put(ctx context.Context, i *timeline.Interaction) error {
	_, err := r.u.db.NewInsert().Model(i).
		On("CONFLICT (tenant_id, id) DO UPDATE").
		Set("kind = EXCLUDED.kind").Set("occurred_at = EXCLUDED.occurred_at").
		Set("duration_minutes = EXCLUDED.duration_minutes").Set("summary = EXCLUDED.summary").
		Set("external_key = EXCLUDED.external_key").Exec(ctx)
	if err != nil {
		return fmt.Errorf("restore interaction: %w", err)
	}
	return r.u.linkInteraction(ctx, i)
}

// linkInteraction keeps who took part in an interaction.
func (u *Unit) linkInteraction(ctx context.Context, i *timeline.Interaction) error {
	links := make([]interactionConnection, len(i.ConnectionIDs))
	for n, c := range i.ConnectionIDs {
		links[n] = interactionConnection{TenantID: u.id, ConnectionID: c, InteractionID: i.ID}
	}
	u.touch(i.ConnectionIDs...)
	return u.insertAll(ctx, &links, len(links))
}
