package server

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/store"
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
func (e *Embeddings) provider() (embedding.Provider, error) {
	if e == nil {
		return embedding.Local{}, nil
	}
	return embedding.NewRemote(embedding.RemoteConfig{URL: e.URL, Key: e.Key, Model: e.Model, Dimensions: e.Dimensions, PerMinute: e.PerMinute})
}

// newSearch returns the search by words, and the search by words and vectors over it.
func newSearch(c Config, data *store.Store, provider embedding.Provider, m *counters) (*finder.Finder, *recall.Searcher) {
	find := finder.New(func(ctx context.Context, t tenant.ID, since int64) (finder.Documents, error) {
		return data.Tenant(t, true).LoadDocuments(ctx, since)
	}, c.SearchMemory)
	if m != nil {
		find.OnBuild(m.builds.Observe)
	}
	return find, recall.New(recall.Config{
		Finder: find, Provider: provider, MaxBytes: c.VectorMemory,
		Vectors: func(ctx context.Context, t tenant.ID, model string, since int64) (embedding.Vectors, error) {
			return data.Tenant(t, true).LoadVectors(ctx, model, since)
		},
	})
}
