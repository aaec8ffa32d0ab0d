// Package kinds lists the kinds of objects whose changes can be undone. Package history
// does not import their features; add a new kind here.
package kinds

import (
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// All returns the restorer of every kind.
func All() history.Kinds {
	return history.Kinds{
		history.Connection:   people.RestoreConnection,
		history.Relationship: people.RestoreRelationship,
		history.DistinctPair: people.RestoreDistinctPair,
		history.Membership:   people.RestoreMembership,
		history.Organization: people.RestoreOrganization,
		history.Note:         timeline.RestoreNote,
		history.Interaction:  timeline.RestoreInteraction,
		history.Group:        groups.RestoreGroup,
		history.Reminder:     reminders.RestoreReminder,
		history.Profile:      account.RestoreProfile,
		history.Settings:     account.RestoreSettings,
		history.Field:        people.RestoreField,
	}
}
