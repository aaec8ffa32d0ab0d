package integration_test

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// brought holds the ids of the rows that bring stores.
type brought struct{ file, importID, sourceKey string }

// bring gives a member an upload that contains the secret, and an imported person.
func bring(ctx context.Context, u *db.Tx, connectionID, secret string) (brought, error) {
	f := importer.NewFile(secret, []byte(secret))
	if err := importer.InsertFile(ctx, u, f); err != nil {
		return brought{}, err
	}
	importID := id.New(id.Import)
	if _, err := history.Record(ctx, u, history.Draft{
		Summary: "Imported " + secret, ImportID: importID, Effects: []history.EffectDraft{{Kind: history.Connection, ID: connectionID, After: secret}},
	}); err != nil {
		return brought{}, err
	}
	out := brought{file: f.ID, importID: importID, sourceKey: importer.SourceKey("csv", secret)}
	return out, importer.InsertBatch(ctx, u, &importer.Batch{
		ImportID: importID, Keys: []importer.Key{{Key: out.sourceKey, ConnectionID: connectionID, Added: true}},
	})
}

// signs are all values by which the victim's people could be found.
func (v victim) signs() importer.Wanted {
	return importer.Wanted{ImportID: v.importID, Notes: true, Keys: []importer.MatchKey{
		{By: "key", Value: v.sourceKey}, {By: "id", Value: v.connection}, {By: "email", Value: v.email}, {By: "phone", Value: "+12125550100"},
		{By: "address", Value: "victim.example/xylophone"}, {By: "name", Value: "xylophone", Organization: "xylophone"},
	}}
}

// importReads are the reads of imports, with the victim's objects.
func importReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"GetFile":     func(ctx context.Context, v victim) (any, error) { return importer.GetFile(ctx, data, v.file) },
		"ListUploads": func(ctx context.Context, _ victim) (any, error) { return importer.ListUploads(ctx, data) },
		"FindPeople": func(ctx context.Context, v victim) (any, error) {
			found, err := importer.FindPeople(ctx, data, v.signs())
			return []any{found.People, found.Notes, found.Keys}, err
		},
		"SaveUpload": func(ctx context.Context, v victim) (any, error) {
			return nil, importer.SaveUpload(ctx, data, "page", &importer.File{TenantID: v.tenant, Name: "mine", Content: []byte("mine")})
		},
		"StartImport": func(ctx context.Context, v victim) (any, error) {
			return importer.StartImport(ctx, data, "page", importer.Request{UploadID: v.file})
		},
		"CancelJob": func(ctx context.Context, v victim) (any, error) {
			return nil, importer.CancelJob(ctx, data, "page", v.job.Number)
		},
		"UndoImport": func(ctx context.Context, v victim) (any, error) {
			return importer.UndoImport(ctx, data, "page", v.importID)
		},
		"GetUpload": func(ctx context.Context, v victim) (any, error) { return importer.GetUpload(ctx, data, v.file) },
		"UpdateChoices": func(ctx context.Context, v victim) (any, error) {
			return nil, importer.UpdateChoices(ctx, data, "page", v.file, func(o *importer.Options) { o.Tags = []string{"stolen"} })
		},
		"ListAdded": func(ctx context.Context, v victim) (any, error) {
			ids, total, err := importer.ListAdded(ctx, data, v.importID, 0, 10)
			return []any{ids, total}, err
		},
		"NewPreview": func(ctx context.Context, v victim) (any, error) {
			f := importer.NewFile("mine.csv", []byte("Name,E-mail\nxylophone,"+v.email+"\n"))
			p, err := importer.NewPreview(ctx, data, f, importer.Options{Rows: map[int]importer.RowChoice{2: {Do: importer.DoSame, Person: v.connection}}})
			if err != nil {
				return nil, err
			}
			return p.Rows[0].Candidates, nil
		},
		"ListImportsInForce": func(ctx context.Context, v victim) (any, error) {
			return importer.ListImportsInForce(ctx, data, []string{v.importID})
		},
	}
}

// importWrites are the writes of imports.
func importWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"GetFile":     func(ctx context.Context, v victim) (any, error) { return importer.GetFile(ctx, u, v.file) },
		"WaitingFile": func(ctx context.Context, _ victim) (any, error) { return importer.WaitingFile(ctx, u) },
		"InsertFile": func(ctx context.Context, v victim) (any, error) {
			return nil, importer.InsertFile(ctx, u, &importer.File{TenantID: v.tenant, Name: "mine", Content: []byte("mine")})
		},
		"ClaimFile": func(ctx context.Context, v victim) (any, error) {
			return nil, importer.ClaimFile(ctx, u, v.file, "imp_stolen")
		},
		"DeleteFile": func(ctx context.Context, v victim) (any, error) { return nil, importer.DeleteFile(ctx, u, v.file) },
		"LiveJob":    func(ctx context.Context, v victim) (any, error) { return job.LiveJob(ctx, u, v.job.Kind) },
		"IsQueued":   func(ctx context.Context, v victim) (any, error) { return job.IsQueued(ctx, u, v.job.Kind) },
		"CountImport": func(ctx context.Context, v victim) (any, error) {
			changes, inForce, err := importer.CountImport(ctx, u, v.importID)
			return []any{changes, inForce}, err
		},
		"ChangeOfImport": func(ctx context.Context, v victim) (any, error) {
			return importer.ChangeOfImport(ctx, u, v.importID, 0)
		},
		"NewULID": func(context.Context, victim) (any, error) { return u.NewULID("job") },
		"FindPeople": func(ctx context.Context, v victim) (any, error) {
			found, err := importer.FindPeople(ctx, u, v.signs())
			return []any{found.People, found.Notes, found.Keys}, err
		},
		"FindReminders": func(ctx context.Context, _ victim) (any, error) {
			return importer.FindReminders(ctx, u, []time.Time{u.Now()})
		},
		"FindNotes": func(ctx context.Context, _ victim) (any, error) {
			return importer.FindNotes(ctx, u, []time.Time{u.Now()})
		},
		"FindInteractions": func(ctx context.Context, v victim) (any, error) {
			return importer.FindInteractions(ctx, u, []string{v.externalKey}, []time.Time{u.Now()})
		},
		"FindRelationships": func(ctx context.Context, v victim) (any, error) {
			return importer.FindRelationships(ctx, u, []string{v.connection, v.relative})
		},
		"InsertBatch": func(ctx context.Context, v victim) (any, error) {
			stolen := &people.Connection{TenantID: v.tenant, ID: v.connection, Name: "stolen", Version: 2, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			return nil, importer.InsertBatch(ctx, u, &importer.Batch{
				Groups:   []*groups.Group{{TenantID: v.tenant, ID: v.group, Name: "stolen", FoldedName: "stolen"}},
				Replaced: []*people.Connection{stolen},
				Joined:   []importer.Link{{ObjectID: v.group, ConnectionID: v.connection}},
				Notes:    []*timeline.Note{{TenantID: v.tenant, ID: v.note, Body: "stolen", ConnectionIDs: []string{v.connection}}},
				Keys:     []importer.Key{{Key: v.sourceKey, ConnectionID: v.connection}},
			})
		},
	}
}
