package demo

import (
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/sandbox"
)

// addArranged adds how the demo account arranges its people, how these are
// related, and what it wants to be reminded of.
func addArranged(out *store.Demo, data *sandbox.Dataset, owner tenant.ID) {
	for _, g := range data.Groups {
		out.Groups = append(out.Groups, organize.Group{
			TenantID: owner, ID: g.ID, Name: g.Name, FoldedName: text.Fold(g.Name), CadenceDays: g.CadenceDays,
			Version: 1, CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
	for _, m := range data.GroupMembers {
		out.GroupMember = append(out.GroupMember, [2]string{m.GroupID, m.ConnectionID})
	}
	for _, r := range data.Relationships {
		out.Relationships = append(out.Relationships, connection.Relationship{
			TenantID: owner, ID: r.ID, FromID: r.FromID, ToID: r.ToID, Type: r.Type, CreatedAt: data.Day,
		}.Normal())
	}
	for _, r := range data.Reminders {
		out.Reminders = append(out.Reminders, reminder.Reminder{
			TenantID: owner, ID: r.ID, ConnectionID: r.ConnectionID, Text: r.Text, DueOn: r.DueOn, StartsOn: r.DueOn,
			Recurrence: r.Recurrence, State: r.State, Version: 1, CreatedAt: data.Day, UpdatedAt: data.Day,
		})
	}
}
