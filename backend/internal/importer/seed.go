package importer

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// Seed imports a file of ours into an account that has nothing, in the transaction of w.
// Unlike an import that a member starts, all of it is one transaction, it costs nothing,
// and people, notes, interactions, reminders, groups and relationships keep the ids that
// the file has. It fails when anything in the file is refused or changed.
func Seed(ctx context.Context, w *db.Tx, content []byte) (err error) {
	im := &imports{into: w, records: source.MaxRecords, params: Params{Options: Options{Format: source.JSON}.Normal(), Free: true}}
	if im.file, err = Open(content, "", im.params.Options); err != nil {
		return err
	}
	im.begin()
	if err := im.phases(ctx); err != nil {
		return err
	}
	if r := im.at.Report; r.Failed > 0 || len(r.Warnings) > 0 {
		return fmt.Errorf("the file isn't imported as it is: %v %v", r.Errors, r.Warnings)
	}
	return nil
}

// newID returns the id that the file has for an object of Seed, and otherwise a new one.
func (im *imports) newID(w *db.Tx, prefix, kept string) (string, error) {
	if im.into != nil && id.Valid(prefix, kept) {
		return kept, nil
	}
	return w.NewID(prefix)
}

// seeded resolves the keys of Seed: each key is the id of its person.
func seeded(keys []string) *resolved {
	c := &resolved{byKey: map[string]string{}, open: func(string) bool { return true }}
	for _, key := range keys {
		c.byKey[key] = key
	}
	return c
}
