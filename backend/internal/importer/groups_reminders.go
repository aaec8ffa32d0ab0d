package importer

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// groups imports what a file of ours says of groups: those without people are added,
// and others get the description and the interval that they lack.
func (im *imports) groups(ctx context.Context) error {
	return phaseOf(ctx, im, phaseGroups, im.file.Groups(), func(*source.Group) int { return 0 },
		func(*source.Group) []string { return nil }, im.group)
}

func (im *imports) group(ctx context.Context, w *db.Tx, _ *resolved, records []source.Group, report *Report) (*Batch, []history.Touch, error) {
	held, err := groups.ListGroups(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	book := newGroupBook(held, w.Now(), func() (string, error) { return w.NewID(id.Group) })
	book.details = im.groupDetails
	var effects []history.Touch
	for _, rec := range records {
		if rec.Err != nil {
			report.warn(afterRow, "groups", rec.Row, rec.Err)
			continue
		}
		made := len(book.made)
		g := book.named(rec.Record.Name)
		switch {
		case book.err != nil:
			return nil, nil, book.err
		case g == nil:
			report.warn("the group %q was left out: there are %d groups already", rec.Record.Name, groups.MaxGroups)
		case len(book.made) > made:
			effects = append(effects, history.Touch{Kind: history.Group, ID: g.ID, After: g})
		default:
			blended, err := im.blendGroup(ctx, w, g, rec.Record)
			if err != nil {
				return nil, nil, err
			}
			effects = append(effects, blended...)
		}
	}
	return &Batch{ImportID: im.params.ImportID, Groups: book.made}, effects, nil
}

// blendGroup gives a group on file what it lacks, or with overwrite all that the file
// says.
func (im *imports) blendGroup(ctx context.Context, w *db.Tx, g *groups.Group, rec export.GroupRecord) ([]history.Touch, error) {
	before, after, overwrite := *g, *g, im.params.Options.OnMatch == OnMatchOverwrite
	if rec.Description != "" && (overwrite || g.Description == "") {
		after.Description = rec.Description
	}
	if rec.CadenceDays != 0 && (overwrite || g.CadenceDays == 0) {
		after.CadenceDays = rec.CadenceDays
	}
	if im.params.Options.OnMatch == OnMatchSkip || after == before {
		return nil, nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	*g = after
	return []history.Touch{{Kind: history.Group, ID: g.ID, Before: before, After: after}}, groups.ReplaceGroup(ctx, w, &after)
}

// reminders imports those of a file of ours.
func (im *imports) reminders(ctx context.Context) error {
	return phaseOf(ctx, im, phaseReminders, im.file.Reminders(), func(r *source.Reminder) int { return len(r.Record.Text) },
		func(r *source.Reminder) []string { return []string{r.Record.ConnectionID} }, im.remind)
}

// reminderKey is what two reminders that are one have in common.
type reminderKey struct {
	at          time.Time
	about, text string
}

func (im *imports) remind(ctx context.Context, w *db.Tx, who *resolved, records []source.Reminder, report *Report) (*Batch, []history.Touch, error) {
	held, err := heldReminders(ctx, w, records)
	if err != nil {
		return nil, nil, err
	}
	b := &Batch{ImportID: im.params.ImportID}
	var effects []history.Touch
	for i := range records {
		rec := &records[i].Record
		if err := records[i].Err; err != nil {
			report.warn(afterRow, "reminders", records[i].Row, err)
			continue
		}
		about := who.byKey[rec.ConnectionID]
		if rec.ConnectionID != "" && (about == "" || !who.open(about)) {
			continue
		}
		r := &reminders.Reminder{
			ConnectionID: about, Text: rec.Text, DueOn: rec.DueOn, StartsOn: rec.StartsOn, Recurrence: rec.Recurrence, State: rec.State,
			Version: 1, CreatedAt: moment(rec.CreatedAt), UpdatedAt: moment(rec.UpdatedAt),
		}
		if r.UpdatedAt.Before(r.CreatedAt) {
			r.UpdatedAt = r.CreatedAt
		}
		sign := reminderKey{r.CreatedAt, about, r.Text}
		if held[sign] {
			continue
		}
		held[sign] = true
		if r.ID, err = im.newID(w, id.Reminder, rec.ID); err != nil {
			return nil, nil, err
		}
		b.Reminders = append(b.Reminders, r)
		effects = append(effects, history.Touch{Kind: history.Reminder, ID: r.ID, After: r})
	}
	return b, effects, nil
}

// heldReminders returns the signs of the reminders on file that were made when those
// of the records were. A record without a time gets the present.
func heldReminders(ctx context.Context, w *db.Tx, records []source.Reminder) (map[reminderKey]bool, error) {
	var at []time.Time
	for i := range records {
		if records[i].Record.CreatedAt.IsZero() {
			records[i].Record.CreatedAt = w.Now()
		}
		at = append(at, moment(records[i].Record.CreatedAt))
	}
	rows, err := FindReminders(ctx, w, at)
	held := map[reminderKey]bool{}
	for _, r := range rows {
		held[reminderKey{moment(r.CreatedAt), r.ConnectionID, r.Text}] = true
	}
	return held, err
}
