package importer

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// groups adds the groups of a lossless export that have no people. Existing groups get the
// description and the interval that they lack.
func (im *fileImport) groups(ctx context.Context) error {
	return importList(ctx, im, phaseGroups, im.file.Groups(), nil, addGroups)
}

func addGroups(ctx context.Context, s *step, records []source.Group) error {
	set, err := readGroups(ctx, s.tx, s.groupDetails)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "groups", rec.Row, rec.Err)
			continue
		}
		g := set.get(rec.Record.Name)
		switch {
		case g == nil:
			s.report.warn("the group %q was left out: there are %d groups already", rec.Record.Name, groups.MaxGroups)
		case g.ID != "":
			if err := s.blendGroup(ctx, g, rec.Record); err != nil {
				return err
			}
		}
	}
	return s.groups(set.added)
}

// blendGroup gives an existing group the values it lacks or, with overwrite, all values of
// the file.
func (s *step) blendGroup(ctx context.Context, g *groups.Group, rec export.GroupRecord) error {
	before, after, overwrite := *g, *g, s.params.Options.OnMatch == OnMatchOverwrite
	if rec.Description != "" && (overwrite || g.Description == "") {
		after.Description = rec.Description
	}
	if rec.CadenceDays != 0 && (overwrite || g.CadenceDays == 0) {
		after.CadenceDays = rec.CadenceDays
	}
	if s.params.Options.OnMatch == OnMatchSkip || after == before {
		return nil
	}
	after.Version++
	after.UpdatedAt = s.tx.Now()
	*g = after
	s.effect(history.Group, g.ID, before, after)
	return groups.ReplaceGroup(ctx, s.tx, &after)
}

// reminders imports the reminders of a lossless export.
func (im *fileImport) reminders(ctx context.Context) error {
	return importList(ctx, im, phaseReminders, im.file.Reminders(), func(r source.Reminder) int { return len(r.Record.Text) }, addReminders)
}

// reminderKey identifies a reminder: two reminders with the same key are one.
type reminderKey struct {
	at          time.Time
	about, text string
}

func addReminders(ctx context.Context, s *step, records []source.Reminder) error {
	var keys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionID)
		rec.CreatedAt = orNow(rec.CreatedAt, s.tx)
		at = append(at, rec.CreatedAt)
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	rows, err := FindReminders(ctx, s.tx, at)
	if err != nil {
		return err
	}
	known := map[reminderKey]bool{}
	for _, r := range rows {
		known[reminderKey{moment(r.CreatedAt), r.ConnectionID, r.Text}] = true
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "reminders", rec.Row, rec.Err)
			continue
		}
		about := who.ids[rec.Record.ConnectionID]
		if rec.Record.ConnectionID != "" && (about == "" || !who.open(about)) {
			continue
		}
		r := reminderOf(&rec.Record, about)
		key := reminderKey{r.CreatedAt, about, r.Text}
		if known[key] {
			continue
		}
		known[key] = true
		if r.ID, err = s.tx.NewID(id.Reminder); err != nil {
			return err
		}
		s.rows.Reminders = append(s.rows.Reminders, r)
		s.effect(history.Reminder, r.ID, nil, r)
	}
	return nil
}

// reminderOf returns the row of a reminder about a person or, if about is empty, about
// no person.
func reminderOf(rec *export.ReminderRecord, about string) *reminders.Reminder {
	r := &reminders.Reminder{
		ConnectionID: about, Text: rec.Text, DueOn: rec.DueOn, StartsOn: rec.StartsOn, Recurrence: rec.Recurrence, State: rec.State,
		Version: 1, CreatedAt: moment(rec.CreatedAt),
	}
	r.UpdatedAt = latest(moment(rec.UpdatedAt), r.CreatedAt)
	return r
}
