package importer

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// Store is what imports need of the store.
type Store interface {
	// ReadFile returns a member's file, or fails with fault.NotFound.
	ReadFile(ctx context.Context, owner tenant.ID, fileID string) (*File, error)
	// Registry returns who a member has on file.
	Registry(owner tenant.ID) Registry
	// ImportStep runs a step of a job in one transaction, as tenant.WriteStep does.
	ImportStep(ctx context.Context, j *job.Job, fn func(context.Context, Writer) (job.Step, error)) error
}

// Registry tells whom one tenant has on file.
type Registry interface {
	// FindPeople returns who bears one of the signs. The number of statements is
	// fixed.
	FindPeople(ctx context.Context, w Wanted) (Found, error)
	// ListGroups returns all groups by their folded names.
	ListGroups(ctx context.Context) ([]organize.Group, error)
}

// Annals tells what happened between people.
type Annals interface {
	// FindNotes returns the notes that were made at one of the times.
	FindNotes(ctx context.Context, at []time.Time) ([]timeline.Note, error)
	// FindInteractions returns those with one of the external keys, and those that
	// took place at one of the times.
	FindInteractions(ctx context.Context, keys []string, at []time.Time) ([]timeline.Interaction, error)
	// FindReminders returns the reminders that were made at one of the times.
	FindReminders(ctx context.Context, at []time.Time) ([]reminder.Reminder, error)
	// FindRelationships returns those that the people have.
	FindRelationships(ctx context.Context, ids []string) ([]connection.Relationship, error)
}

// Writer keeps what a step of an import brings, within its transaction.
type Writer interface {
	Registry
	Annals
	// KeepBatch keeps rows, with as many statements as there are tables.
	// Organisations and tags that are not on file are made, and spelled in the
	// batch as they are on file.
	KeepBatch(ctx context.Context, b *Batch) error
	// NewID returns an id with a prefix.
	NewID(prefix string) (string, error)
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// ReplaceGroup keeps g in place of the version before it.
	ReplaceGroup(ctx context.Context, g *organize.Group) error
	// ChargeJob takes the price of a step off the member's credits.
	ChargeJob(ctx context.Context, j *job.Job, price int) error
	// DeleteFile deletes a file, if it is there.
	DeleteFile(ctx context.Context, fileID string) error
	// Now is the time of the transaction.
	Now() time.Time
}

// Batch is what one step keeps. All rows have their ids.
type Batch struct {
	// ImportID is the import that adds Created.
	ImportID string
	Groups   []*organize.Group
	// Created are new people, Replaced the next versions of people on file.
	Created, Replaced []*connection.Connection
	// Joined puts people into groups, besides those that they are in.
	Joined        []Link
	Relationships []*connection.Relationship
	Notes         []*timeline.Note
	Interactions  []*timeline.Interaction
	Reminders     []*reminder.Reminder
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
