package store_test

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// brought is what an import left with a member.
type brought struct{ file, importID, sourceKey string }

// bring gives a member an upload that is about the secret, and somebody who was
// imported.
func bring(ctx context.Context, u *store.Unit, connectionID, secret string) (brought, error) {
	f := importer.NewFile(secret, []byte(secret))
	if err := u.InsertFile(ctx, f); err != nil {
		return brought{}, err
	}
	importID, err := u.NewID("imp")
	if err != nil {
		return brought{}, err
	}
	if _, err := u.Record(ctx, change.Draft{
		Summary: "Imported " + secret, ImportID: importID, Effects: []change.Touch{{Kind: connection.ObjectKind, ID: connectionID, After: secret}},
	}); err != nil {
		return brought{}, err
	}
	out := brought{file: f.ID, importID: importID, sourceKey: importer.SourceKey(secret)}
	return out, u.KeepBatch(ctx, &importer.Batch{
		ImportID: importID, Keys: []importer.Key{{Key: out.sourceKey, ConnectionID: connectionID, Added: true}},
	})
}

// signs are all by which the victim's people could be found.
func (v victim) signs() importer.Wanted {
	return importer.Wanted{ImportID: v.importID, Notes: true, Probes: []importer.Probe{
		{By: "key", Value: v.sourceKey}, {By: "id", Value: v.connection}, {By: "email", Value: v.email}, {By: "phone", Value: "+12125550100"},
		{By: "address", Value: "victim.example/xylophone"}, {By: "name", Value: "xylophone", Organization: "xylophone"},
	}}
}

// importReads drives what a Tenant does about imports, with the victim's things.
func importReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"GetFile":     func(ctx context.Context, v victim) (any, error) { return data.GetFile(ctx, v.file) },
		"ListUploads": func(ctx context.Context, _ victim) (any, error) { return data.ListUploads(ctx) },
		"FindPeople": func(ctx context.Context, v victim) (any, error) {
			found, err := data.FindPeople(ctx, v.signs())
			return []any{found.People, found.Notes, found.Keys}, err
		},
		"KeepUpload": func(ctx context.Context, v victim) (any, error) {
			return nil, data.KeepUpload(ctx, "page", &importer.File{TenantID: v.tenant, Name: "mine", Content: []byte("mine")})
		},
		"StartImport": func(ctx context.Context, v victim) (any, error) {
			return data.StartImport(ctx, "page", importer.Request{UploadID: v.file})
		},
		"CancelJob": func(ctx context.Context, v victim) (any, error) {
			return nil, data.CancelJob(ctx, "page", v.job.Number)
		},
		"UndoImport": func(ctx context.Context, v victim) (any, error) { return data.UndoImport(ctx, "page", v.importID) },
		"ListImportsInForce": func(ctx context.Context, v victim) (any, error) {
			return data.ListImportsInForce(ctx, []string{v.importID})
		},
	}
}

// importWrites drives what a Unit does about imports.
func importWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"GetFile":     func(ctx context.Context, v victim) (any, error) { return u.GetFile(ctx, v.file) },
		"WaitingFile": func(ctx context.Context, _ victim) (any, error) { return u.WaitingFile(ctx) },
		"InsertFile": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertFile(ctx, &importer.File{TenantID: v.tenant, Name: "mine", Content: []byte("mine")})
		},
		"TakeFile":   func(ctx context.Context, v victim) (any, error) { return nil, u.TakeFile(ctx, v.file, "imp_stolen") },
		"DeleteFile": func(ctx context.Context, v victim) (any, error) { return nil, u.DeleteFile(ctx, v.file) },
		"LiveJob":    func(ctx context.Context, v victim) (any, error) { return u.LiveJob(ctx, v.job.Kind) },
		"CountImport": func(ctx context.Context, v victim) (any, error) {
			changes, inForce, err := u.CountImport(ctx, v.importID)
			return []any{changes, inForce}, err
		},
		"ChangeOfImport": func(ctx context.Context, v victim) (any, error) { return u.ChangeOfImport(ctx, v.importID, "") },
		"NewID":          func(context.Context, victim) (any, error) { return u.NewID("con") },
		"FindPeople": func(ctx context.Context, v victim) (any, error) {
			found, err := u.FindPeople(ctx, v.signs())
			return []any{found.People, found.Notes, found.Keys}, err
		},
		"FindReminders": func(ctx context.Context, _ victim) (any, error) {
			return u.FindReminders(ctx, []time.Time{u.Now()})
		},
		"FindNotes": func(ctx context.Context, _ victim) (any, error) { return u.FindNotes(ctx, []time.Time{u.Now()}) },
		"FindInteractions": func(ctx context.Context, v victim) (any, error) {
			return u.FindInteractions(ctx, []string{v.externalKey}, []time.Time{u.Now()})
		},
		"FindRelationships": func(ctx context.Context, v victim) (any, error) {
			return u.FindRelationships(ctx, []string{v.connection, v.relative})
		},
		"KeepBatch": func(ctx context.Context, v victim) (any, error) {
			stolen := &connection.Connection{TenantID: v.tenant, ID: v.connection, Name: "stolen", Version: 2, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			return nil, u.KeepBatch(ctx, &importer.Batch{
				Groups:   []*organize.Group{{TenantID: v.tenant, ID: v.group, Name: "stolen", FoldedName: "stolen"}},
				Replaced: []*connection.Connection{stolen},
				Joined:   []importer.Link{{ObjectID: v.group, ConnectionID: v.connection}},
				Notes:    []*timeline.Note{{TenantID: v.tenant, ID: v.note, Body: "stolen", ConnectionIDs: []string{v.connection}}},
				Keys:     []importer.Key{{Key: v.sourceKey, ConnectionID: v.connection}},
			})
		},
	}
}
