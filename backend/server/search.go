package server

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Embeddings is a server that speaks OpenAI's embeddings API.
type Embeddings struct {
	// URL is the base of the API, such as https://api.example.com/v1; Key is its
	// bearer token, empty for none.
	URL, Key string
	// Model is the name of the model there.
	Model string
	// Dimensions is the requested length of a vector; 0 means the model's own.
	Dimensions int
	// PerMinute bounds the requests of this process; 0 means 300.
	PerMinute int
}

// provider returns the remote provider, or the built-in one for nil.
func (e *Embeddings) provider() (vector.Provider, error) {
	if e == nil {
		return vector.Local{}, nil
	}
	return vector.NewRemote(vector.RemoteConfig{URL: e.URL, Key: e.Key, Model: e.Model, Dimensions: e.Dimensions, PerMinute: e.PerMinute})
}

// newSearch returns the search by words, and the search by words and vectors over it.
func newSearch(c Config, data *db.DB, provider vector.Provider, m *counters) (*search.IndexCache, *search.Searcher) {
	find := search.NewIndexCache(func(ctx context.Context, t tenant.ID, since int64) (search.Documents, error) {
		return search.LoadDocuments(ctx, data.Tenant(t, true), since)
	}, c.SearchMemory)
	if m != nil {
		find.OnBuild(m.builds.Observe)
	}
	return find, search.NewSearcher(search.Config{
		Indexes: find, Provider: provider, MaxBytes: c.VectorMemory,
		Vectors: func(ctx context.Context, t tenant.ID, model string, since int64) (vector.Vectors, error) {
			return search.LoadVectors(ctx, data.Tenant(t, true), model, since)
		},
	})
}
