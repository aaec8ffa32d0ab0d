package importer

import (
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// Batch is what one step keeps. All rows have their ids.
type Batch struct {
	// ImportID is the import that adds Created.
	ImportID string
	Groups   []*groups.Group
	// Created are new people, Replaced the next versions of people on file.
	Created, Replaced []*people.Connection
	// Joined puts people into groups, besides those that they are in.
	Joined        []Link
	Relationships []*people.Relationship
	Notes         []*timeline.Note
	Interactions  []*timeline.Interaction
	Reminders     []*reminders.Reminder
	// NotesAbout and MetBy are further people of notes and interactions on file.
	NotesAbout, MetBy []Link
	// Keys are hashed keys by which people are known from now on.
	Keys []Key
}

// Link is a person's place in a group, a note or an interaction.
type Link struct{ ObjectID, ConnectionID string }

// Key is a hashed key of a person, and whether this import added them.
type Key struct {
	Key, ConnectionID string
	Added             bool
}
