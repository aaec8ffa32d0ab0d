package insights

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	"github.com/uptrace/bun"
)

// includedEntries is how many notes and interactions get_connection adds.
const includedEntries = 10

// Why the person with an id cannot be read.
const (
	missingUnknown = "not_found"
	missingDeleted = "in_bin"
	missingMerged  = "merged"
)

// GetConnection implements the RPC. The number of statements does not depend on how many
// people are read.
func (h *RPC) GetConnection(ctx context.Context, req *connectionsv1.GetConnectionRequest) (*connectionsv1.GetConnectionResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	if req.Id == nil {
		people, missing, err := readConnections(ctx, data, req.GetIds(), req.GetInclude())
		if err != nil {
			return nil, err
		}
		return answerWithin(maxSeveral, people, missing)
	}
	found, missing, err := readConnections(ctx, data, []string{req.GetId()}, req.GetInclude())
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, people.NoConnection(ctx, data, req.GetId())
	}
	one := found[0]
	return &connectionsv1.GetConnectionResponse{
		Connection: one.connection, Notes: one.notes, Interactions: one.interactions, Positions: one.positions,
	}, nil
}

// whole is a person with the included lists.
type whole struct {
	connection   *connectionsv1.Connection
	notes        []*timelinev1.Note
	interactions []*timelinev1.Interaction
	positions    []*connectionsv1.Position
}

// readConnections returns people with the included lists, in the order of the ids, and the ids
// whose person cannot be read.
func readConnections(ctx context.Context, data db.Reader, ids, include []string) ([]whole, []*connectionsv1.MissingConnection, error) {
	stored, err := people.GetConnections(ctx, data, ids)
	if err != nil {
		return nil, nil, err
	}
	var found []people.Connection
	for _, id := range ids {
		if c := stored[id]; c != nil && c.MergedInto == "" {
			found = append(found, *c)
		}
	}
	missing, err := missingConnections(ctx, data, ids, stored)
	if err != nil || len(found) == 0 {
		return nil, missing, err
	}
	messages, err := people.WholeConnections(ctx, data, found)
	if err != nil {
		return nil, nil, err
	}
	out := make([]whole, len(found))
	for i, c := range found {
		out[i].connection = messages[i]
		if slices.Contains(include, "positions") {
			out[i].positions = people.PositionMessages(c.Positions)
		}
	}
	return out, missing, addEntries(ctx, data, out, include)
}

func idsOf(list []whole) []string {
	return people.IDs(list, func(p whole) string { return p.connection.GetId() })
}

// missingConnections returns the ids whose person cannot be read, with the reasons.
func missingConnections(ctx context.Context, data db.Reader, ids []string, stored map[string]*people.Connection) ([]*connectionsv1.MissingConnection, error) {
	var unknown []string
	for _, id := range ids {
		if stored[id] == nil {
			unknown = append(unknown, id)
		}
	}
	var deletions map[string]string
	if len(unknown) > 0 {
		var err error
		if deletions, err = history.FindDeletions(ctx, data, unknown); err != nil {
			return nil, err
		}
	}
	var missing []*connectionsv1.MissingConnection
	for _, id := range ids {
		c, deletion := stored[id], deletions[id]
		switch {
		case c != nil && c.MergedInto != "":
			missing = append(missing, &connectionsv1.MissingConnection{Id: id, Reason: missingMerged, MergedInto: &c.MergedInto})
		case c == nil && deletion != "":
			missing = append(missing, &connectionsv1.MissingConnection{Id: id, Reason: missingDeleted, ChangeId: &deletion})
		case c == nil:
			missing = append(missing, &connectionsv1.MissingConnection{Id: id, Reason: missingUnknown})
		}
	}
	return missing, nil
}

// addEntries adds the included notes and interactions.
func addEntries(ctx context.Context, data db.Reader, to []whole, include []string) error {
	ids := idsOf(to)
	if slices.Contains(include, "notes") {
		notes, err := timeline.ListNotes(ctx, data, ids, includedEntries)
		if err != nil {
			return err
		}
		for i, id := range ids {
			for _, n := range notes[id] {
				to[i].notes = append(to[i].notes, timeline.NoteMessage(ctx, &n))
			}
		}
	}
	if slices.Contains(include, "interactions") {
		met, err := timeline.ListInteractions(ctx, data, ids, includedEntries)
		if err != nil {
			return err
		}
		for i, id := range ids {
			for _, with := range met[id] {
				to[i].interactions = append(to[i].interactions, timeline.InteractionMessage(ctx, &with))
			}
		}
	}
	return nil
}

// headlines returns those of the people who are not archived, without their strengths, by
// id.
func headlines(ctx context.Context, q db.Reader, ids []string) (map[string]Person, error) {
	out := make(map[string]Person, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var persons []people.Connection
	err := q.From(&persons).Column("id", "name", "last_interaction_at").
		Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range persons {
		out[c.ID] = Person{ID: c.ID, Name: c.Name, LastInteractionAt: c.LastInteractionAt}
	}
	var current []people.Position
	err = people.Positions(q, &current).Where("?TableAlias.connection_id IN (?)", bun.List(ids)).Where("?TableAlias.current").Scan(ctx)
	seen := map[string]bool{}
	for _, p := range current {
		if person, live := out[p.ConnectionID]; live && !seen[p.ConnectionID] {
			seen[p.ConnectionID] = true
			person.Organization, person.Title = p.Organization, p.Title
			out[p.ConnectionID] = person
		}
	}
	return out, err
}

// ListHeadlines returns those of the people who are not archived, by id, without their
// strengths. It takes two statements.
func ListHeadlines(ctx context.Context, q db.Reader, who []string) (map[string]Person, error) {
	people, err := headlines(ctx, q, who)
	return people, err
}
