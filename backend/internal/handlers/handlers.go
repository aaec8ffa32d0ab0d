// Package handlers makes the handlers of the features' RPCs. Package rpc serves them to
// agents, and the pages of web call the same ones for people.
package handlers

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/research"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/wordindex"
)

// Config is what the handlers need. All is required but BaseURL.
type Config struct {
	Store *db.DB
	// Kinds are the kinds of objects whose changes can be undone.
	Kinds   history.Kinds
	Indexes *search.IndexCache
	// Search searches by words and by similarity.
	Search *search.Searcher
	// Jobs wakes the workers of the queue, and notifies calls that wait for jobs.
	Jobs job.Jobs
	// BaseURL is the public address of the service; it may be empty.
	BaseURL string
	Now     func() time.Time
}

// Handlers has the handlers of each feature. They are safe for concurrent use.
type Handlers struct {
	Search     *search.RPC
	People     *people.RPC
	Timeline   *timeline.RPC
	Groups     *groups.RPC
	Reminders  *reminders.RPC
	Insights   *insights.RPC
	Exports    *export.RPC
	Changes    *history.RPC
	Imports    *importer.RPC
	Embeddings *search.EmbedRPC
	Jobs       *job.RPC
	Account    *account.RPC
	Research   *research.RPC
}

// New returns the handlers.
func New(c Config) *Handlers {
	searched := &search.RPC{DB: c.Store, Index: c.Indexes, Search: c.Search}
	selected := searched.Selected
	jobs := &job.RPC{
		DB: c.Store, Jobs: c.Jobs, BaseURL: c.BaseURL, Now: c.Now,
		Tools: map[string]string{
			importer.JobKind: "import_file", importer.UndoKind: "undo_change", search.EmbedKind: "embed_objects", export.JobKind: "export_connections",
		},
		Waits: decision.Waits, DecidePath: decision.Path,
		Next:   map[string]job.Next{importer.JobKind: importer.Next},
		Cancel: decision.Cancel,
	}
	h := &Handlers{
		Search:     searched,
		People:     &people.RPC{DB: c.Store, Kinds: c.Kinds, Selected: selected, StoreNote: timeline.StoreNote},
		Timeline:   &timeline.RPC{DB: c.Store, Index: c.Indexes.OfCaller, Blocks: blocksOfCaller(c.Store)},
		Groups:     &groups.RPC{DB: c.Store, Selected: selected, Index: c.Indexes.OfCaller},
		Reminders:  &reminders.RPC{DB: c.Store, Now: c.Now, Selected: selected, Index: c.Indexes.OfCaller},
		Insights:   &insights.RPC{DB: c.Store, Index: c.Indexes, Search: c.Search, Now: c.Now},
		Exports:    &export.RPC{DB: c.Store, Selected: selected, Jobs: c.Jobs},
		Changes:    &history.RPC{DB: c.Store},
		Imports:    &importer.RPC{Jobs: c.Jobs, Kinds: c.Kinds, Read: jobs.GetJob},
		Embeddings: &search.EmbedRPC{Jobs: c.Jobs, Provider: c.Search.Provider()},
		Jobs:       jobs,
		Account:    &account.RPC{DB: c.Store},
	}
	h.Research = &research.RPC{BaseURL: c.BaseURL, People: h.Search, Index: c.Indexes, Insights: h.Insights, Timeline: h.Timeline, Account: h.Account}
	return h
}

// blockMemory is how many bytes the times and kinds of notes and interactions may take in memory: enough for about six million entries.
const blockMemory = 32 << 20

// blocksOfCaller returns a function that returns the times and kinds of the caller's notes and interactions, which are read from the
// database when they have changed.
func blocksOfCaller(store *db.DB) func(ctx context.Context) (*wordindex.Blocks, error) {
	load := func(ctx context.Context, t tenant.ID, since int64, blocks *wordindex.Blocks) (version int64, err error) {
		err = store.Tenant(t, true).Snapshot(ctx, func(ctx context.Context, r db.Reader) error {
			version, err = blocks.Load(ctx, r, since)
			return err
		})
		return version, err
	}
	cache := search.NewCache(wordindex.NewBlocks, load, blockMemory)
	return func(ctx context.Context) (*wordindex.Blocks, error) {
		p := tenant.PrincipalFrom(ctx)
		return cache.Get(ctx, p.Tenant, p.DataVersion)
	}
}
