package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/strength"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// closeness reads what an answer tells of a person besides their record.
type closeness interface {
	// GetStrength returns how close the member is to a person.
	GetStrength(ctx context.Context, connectionID string) (strength.Strength, error)
	// ListRelations returns what other people are to a person, limit at most.
	ListRelations(ctx context.Context, connectionID string, limit int) ([]connection.Relation, error)
}

// maxRelations is how many relationships an answer shows.
const maxRelations = 50

// wholeConnection is a person as answers show them, with what follows from other
// records.
func wholeConnection(ctx context.Context, data closeness, c *connection.Connection) (*connectionsv1.Connection, error) {
	s, err := data.GetStrength(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	relations, err := data.ListRelations(ctx, c.ID, maxRelations)
	if err != nil {
		return nil, err
	}
	m := connectionMessage(c)
	m.Strength, m.Relationships = int32(s.Score), relationMessages(relations)
	return m, nil
}

func relationMessages(relations []connection.Relation) []*connectionsv1.Relationship {
	out := make([]*connectionsv1.Relationship, len(relations))
	for i, r := range relations {
		out[i] = &connectionsv1.Relationship{ConnectionId: r.ConnectionID, Name: r.Name, Type: r.Type}
	}
	return out
}

func connectionMessage(c *connection.Connection) *connectionsv1.Connection {
	current := c.CurrentPosition()
	return &connectionsv1.Connection{
		Id: c.ID, Name: c.Name, Nickname: c.Nickname, Headline: current.Headline(), Organization: current.Organization,
		Title: current.Title, Emails: c.Values(connection.KindEmail), Phones: c.Values(connection.KindPhone),
		Urls: c.Values(connection.KindURL), Location: c.Location, Bio: c.Bio, Tags: c.Tags, Starred: c.Starred,
		MetOn: c.MetOn, MetHow: c.MetHow, Source: c.Source, LastInteractionAt: timestamp(c.LastInteractionAt),
		Version: c.Version, CreatedAt: timestamp(c.CreatedAt), UpdatedAt: timestamp(c.UpdatedAt),
		ImportantDates: dateMessages(c.Dates), Groups: c.Groups, CadenceDays: int32(c.CadenceDays), ArchivedAt: timestamp(c.ArchivedAt),
	}
}

func positionMessages(positions []connection.Position) []*connectionsv1.Position {
	out := make([]*connectionsv1.Position, len(positions))
	for i, p := range positions {
		out[i] = &connectionsv1.Position{
			Organization: p.Organization, Title: p.Title, StartedOn: p.StartedOn, EndedOn: p.EndedOn, Current: p.Current,
		}
	}
	return out
}

func dateMessages(dates []connection.ImportantDate) []*connectionsv1.ImportantDate {
	out := make([]*connectionsv1.ImportantDate, len(dates))
	for i, d := range dates {
		out[i] = &connectionsv1.ImportantDate{Kind: d.Kind, Date: d.String(), Label: d.Label}
	}
	return out
}

func dateDrafts(dates []*connectionsv1.ImportantDate) []connection.DateDraft {
	out := make([]connection.DateDraft, len(dates))
	for i, d := range dates {
		out[i] = connection.DateDraft{Kind: d.GetKind(), Date: d.GetDate(), Label: d.GetLabel()}
	}
	return out
}
