package books

import (
	"context"
	"maps"
	"slices"

	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/sources"
)

// work is a card that was read, and its row as it is stored next.
type work struct {
	row  *row
	text string
	card *importer.Card // nil if nothing of it is to be taken
	left bool           // of somebody whom the member has deleted: the row stays, so that the card is read again when they are back
}

// outcome is what a step did.
type outcome struct{ added, known, changed, waiting int }

// Write implements sources.Reading.
func (v *reading) Write(ctx context.Context, step sources.Step) error {
	var changed []item
	listed := map[string]bool{}
	for _, one := range v.list {
		listed[one.key] = true
		if held := v.rows[one.key]; held == nil || held.Gone || one.etag == "" || held.ETag != one.etag {
			changed = append(changed, one)
		}
	}
	for part := range slices.Chunk(changed, atOnce) {
		texts, err := v.fetch(ctx, part)
		if err != nil {
			return err
		}
		if err := v.write(ctx, step, v.compare(ctx, part, texts)); err != nil {
			return err
		}
	}
	var gone []work
	for _, held := range v.rows {
		if !listed[held.Key] && !held.Gone {
			after := *held
			after.Gone, after.Problem = true, ""
			gone = append(gone, work{row: &after})
		}
	}
	for part := range slices.Chunk(gone, sources.MaxSources*atOnce) {
		if err := v.write(ctx, step, part); err != nil {
			return err
		}
	}
	return v.count(ctx)
}

// compare returns what is to be stored of cards. One whose content is as it was only gets a new ETag, if it has one.
func (v *reading) compare(ctx context.Context, part []item, texts map[string]string) (all []work) {
	for _, one := range part {
		card, sent := texts[one.key]
		after := &row{TenantID: v.src.TenantID, SourceID: v.src.ID, Key: one.key}
		held := v.rows[one.key]
		if held != nil {
			*after = *held
		}
		after.ETag, after.Gone = one.etag, false
		if sent && held != nil && held.Hash == hashOf(card) && (held.ConnectionID != "" || held.Problem == "") {
			if held.ETag != after.ETag || held.Gone {
				all = append(all, work{row: after})
			}
			continue
		}
		w := work{row: after, text: card}
		w.card, after.Problem, _ = v.readCard(ctx, card, sent, true)
		if w.card == nil {
			if !sent {
				after.ETag = "" // asked for again
			}
			after.Hash = hashOf(card)
			if held != nil && *held.comparable() == *after.comparable() {
				continue
			}
		}
		all = append(all, w)
	}
	return all
}

// comparable returns what can be compared of a row.
func (r *row) comparable() *struct{ etag, hash, problem string } {
	return &struct{ etag, hash, problem string }{r.ETag, r.Hash, r.Problem}
}

// write stores cards in one transaction. One that can't be stored is left out, with its problem.
func (v *reading) write(ctx context.Context, step sources.Step, all []work) error {
	for len(all) > 0 {
		var done outcome
		var bad *work
		err := step(ctx, func(ctx context.Context, tx *db.Tx) error {
			done, bad = outcome{}, nil
			for i := range all {
				if err := v.take(ctx, tx, &all[i], &done); err != nil {
					bad = &all[i]
					return err
				}
			}
			return v.put(ctx, tx, all)
		})
		if err == nil {
			for _, w := range all {
				if w.left {
					continue
				}
				v.rows[w.row.Key] = w.row
			}
			v.report.Added += done.added
			v.report.Known += done.known
			v.report.Changed += done.changed
			v.report.Waiting += done.waiting
			return nil
		}
		if bad == nil || !fault.Is(err, fault.Invalid) {
			return err
		}
		bad.card, bad.row.Problem, bad.row.ETag, bad.row.Hash = nil, problemOf(bad.text, err), "", "" // tried again
		if held := v.rows[bad.row.Key]; held != nil {
			bad.row.ConnectionID, bad.row.Card, bad.row.Photo = held.ConnectionID, held.Card, held.Photo
		}
	}
	return nil
}

// take stores a card. Somebody whom the member has deleted, or the bin has, is left alone.
func (v *reading) take(ctx context.Context, tx *db.Tx, w *work, done *outcome) error {
	if w.card == nil {
		return nil
	}
	card := *w.card // a step may run again
	p := dav.Pulled{Text: w.text, Card: &card}
	if held := v.rows[w.row.Key]; held != nil && held.ConnectionID != "" {
		live, err := dav.LivePeople(ctx, tx, []string{held.ConnectionID})
		if err != nil {
			return err
		}
		if p.ConnectionID = live[held.ConnectionID]; p.ConnectionID == "" {
			w.left = true
			return nil
		}
		p.Base, p.BasePhoto = held.Card, held.Photo
	} else {
		found, err := dav.FindPerson(ctx, tx, &card)
		if err != nil {
			return err
		}
		p.ConnectionID = found
	}
	t, err := dav.Take(ctx, tx, v.who, p)
	if err != nil {
		return err
	}
	switch {
	case p.ConnectionID == "":
		done.added++
	case w.row.ConnectionID == "":
		done.known++
	case t.Changed:
		done.changed++
	}
	if t.Waits {
		done.waiting++
	}
	w.row.ConnectionID, w.row.Photo, w.row.Card, w.row.Hash, w.row.Problem = t.ConnectionID, card.Card.Photo, dav.Pack(w.text), hashOf(w.text), ""
	return nil
}

// put stores the rows of cards.
func (v *reading) put(ctx context.Context, tx *db.Tx, all []work) error {
	var rows []*row
	for i := range all {
		if all[i].left {
			continue
		}
		if all[i].row.Card == nil {
			all[i].row.Card = []byte{}
		}
		rows = append(rows, all[i].row)
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, source_id, key) DO UPDATE").
		Set("etag = EXCLUDED.etag").Set("hash = EXCLUDED.hash").Set("connection_id = EXCLUDED.connection_id").Set("photo = EXCLUDED.photo").
		Set("card = EXCLUDED.card").Set("gone = EXCLUDED.gone").Set("problem = EXCLUDED.problem").Exec(ctx)
	return err
}

// count reports what the rows say after a run.
func (v *reading) count(ctx context.Context) error {
	var ids []string
	for _, r := range v.rows {
		if r.ConnectionID != "" {
			ids = append(ids, r.ConnectionID)
		}
	}
	live := map[string]string{}
	for part := range slices.Chunk(ids, 500) {
		some, err := dav.LivePeople(ctx, v.Store.Tenant(v.src.TenantID, true), part)
		if err != nil {
			return err
		}
		maps.Copy(live, some)
	}
	for _, key := range slices.Sorted(maps.Keys(v.rows)) {
		switch r := v.rows[key]; {
		case r.Problem != "" && !r.Gone:
			v.tell(r.Problem)
		case r.ConnectionID == "" && !r.Gone:
			v.report.Lists++
		case live[r.ConnectionID] == "" && !r.Gone:
			v.report.Left++
		case live[r.ConnectionID] != "" && r.Gone:
			v.report.Gone++
		}
	}
	return nil
}
