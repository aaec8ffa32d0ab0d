package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Sourced is an interaction that a source, such as a calendar, has.
type Sourced struct {
	// ID is the interaction that was logged for it; empty for none yet.
	ID string
	// Before is what the source said when it was logged, or last changed. Now is what it says now, with the ExternalKey; nil if it
	// no longer has it.
	Before, Now *Interaction
}

// SyncResult is what SyncInteractions did.
type SyncResult struct {
	// IDs are the interactions of the arguments, in the same order, also of those that the member has deleted; empty for one that is no longer
	// logged.
	IDs                     []string
	Added, Changed, Removed int
	ChangeID                string // empty if nothing was written

	effects []history.EffectDraft
}

// SyncInteractions brings interactions up to date with a source, such as "the calendar Work", as one change, which is part of an import. Where a member has changed
// a field of an interaction since, the field stays; an interaction that the member has deleted stays deleted, and one that the member has
// changed is not removed. An interaction that another source has logged with the same external key is left as it is.
func SyncInteractions(ctx context.Context, w *db.Tx, source, importID string, all []Sourced) (*SyncResult, error) {
	out := &SyncResult{IDs: make([]string, len(all))}
	stored, known, err := storedFor(ctx, w, all)
	if err != nil {
		return nil, err
	}
	for n, s := range all {
		i := stored[s.ID]
		switch {
		case s.ID != "" && i == nil: // the member has deleted it
			out.IDs[n] = s.ID
			continue
		case s.ID == "" && s.Now != nil && known[s.Now.ExternalKey] != nil:
			out.IDs[n] = known[s.Now.ExternalKey].ID
			continue
		case s.Now == nil:
			if i == nil {
				continue
			}
			if !sameMeeting(i, s.Before) {
				out.IDs[n] = i.ID
				continue
			}
			out.Removed++
			err = out.put(ctx, w, i, nil)
		case i == nil:
			i = &Interaction{}
			*i = *s.Now
			i.Summary, i.CreatedAt = text.Clean(i.Summary), w.Now()
			if err = InsertInteraction(ctx, w, i); err == nil {
				out.Added++
				out.effects = append(out.effects, history.EffectDraft{Kind: history.Interaction, ID: i.ID, After: *i})
				known[i.ExternalKey] = i
			}
			out.IDs[n] = i.ID
		default:
			out.IDs[n] = i.ID
			after := merged(i, s.Before, s.Now)
			if sameMeeting(i, &after) {
				continue
			}
			out.Changed++
			err = out.put(ctx, w, i, &after)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(out.effects) > 0 {
		out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: out.summary(source), Effects: out.effects, ImportID: importID})
	}
	return out, err
}

// summary says what was done, such as "From the calendar Work: 2 logged, 1 changed".
func (r *SyncResult) summary(source string) string {
	var did []string
	for _, one := range []struct {
		count int
		verb  string
	}{{r.Added, "logged"}, {r.Changed, "changed"}, {r.Removed, "removed"}} {
		if one.count > 0 {
			did = append(did, fmt.Sprint(one.count, " ", one.verb))
		}
	}
	return "From " + source + ": " + strings.Join(did, ", ")
}

// put replaces an interaction, or removes it, and notes the effect.
func (r *SyncResult) put(ctx context.Context, w *db.Tx, before, after *Interaction) error {
	effect := history.EffectDraft{Kind: history.Interaction, ID: before.ID, Before: *before}
	if after != nil {
		effect.After = *after
	}
	r.effects = append(r.effects, effect)
	return replaceInteraction(ctx, w, before, after)
}

// storedFor returns the interactions as they are stored now, by id and by external key.
func storedFor(ctx context.Context, w *db.Tx, all []Sourced) (byID, byKey map[string]*Interaction, err error) {
	var ids []string
	var fresh []Interaction
	for _, s := range all {
		switch {
		case s.ID != "":
			ids = append(ids, s.ID)
		case s.Now != nil:
			fresh = append(fresh, *s.Now)
		}
	}
	byID = map[string]*Interaction{}
	if len(ids) > 0 {
		var rows []Interaction
		if err := w.From(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
			return nil, nil, err
		}
		if err := FillInteractions(ctx, w, rows); err != nil {
			return nil, nil, err
		}
		for i := range rows {
			byID[rows[i].ID] = &rows[i]
		}
	}
	byKey, err = findInteractions(ctx, w, fresh)
	return byID, byKey, err
}

// merged returns an interaction with what a source has changed since it said before, except for what the member has changed.
func merged(stored, before, now *Interaction) Interaction {
	after := *stored
	if stored.OccurredAt.Equal(before.OccurredAt) {
		after.OccurredAt, after.OccurredLocal = now.OccurredAt, now.OccurredLocal
	}
	if stored.DurationMinutes == before.DurationMinutes {
		after.DurationMinutes = now.DurationMinutes
	}
	if stored.Summary == text.Clean(before.Summary) {
		after.Summary = text.Clean(now.Summary)
	}
	gone := without(before.ConnectionIDs, now.ConnectionIDs)
	came := without(now.ConnectionIDs, before.ConnectionIDs)
	who := people.DistinctIDs(append(without(stored.ConnectionIDs, gone), came...))
	if len(who) > 0 && len(who) <= MaxParticipants {
		after.ConnectionIDs = slices.Sorted(slices.Values(who))
	}
	return after
}

// sameMeeting reports whether two interactions say the same.
func sameMeeting(a, b *Interaction) bool {
	return b != nil && a.OccurredAt.Equal(b.OccurredAt) && a.DurationMinutes == b.DurationMinutes && a.Summary == text.Clean(b.Summary) &&
		slices.Equal(slices.Sorted(slices.Values(a.ConnectionIDs)), slices.Sorted(slices.Values(b.ConnectionIDs)))
}
