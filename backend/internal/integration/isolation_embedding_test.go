package integration_test

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

// keepVector gives a member a vector whose model is the secret.
func keepVector(ctx context.Context, u *db.Tx, connectionID string) error {
	return search.PutEmbeddings(ctx, u, 1, []vector.Row{{
		ConnectionID: connectionID, Model: secret, Dimensions: 2, ContentHash: secret, Vector: vector.Vector{1, 0},
	}}, nil)
}

// vectorReads are the reads of vectors, with the victim's model.
func vectorReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListCandidates": func(ctx context.Context, _ victim) (any, error) {
			some, err := search.ListCandidates(ctx, data, secret, "", 100, false)
			if err != nil {
				return nil, err
			}
			all, err := search.ListCandidates(ctx, data, secret, "", 100, true)
			return []any{some.People, all.People}, err
		},
		"LoadVectors": func(ctx context.Context, v victim) (any, error) {
			found, err := search.LoadVectors(ctx, data, secret, -1)
			if slices.Contains(found.IDs, v.connection) {
				return secret, err
			}
			return found, err
		},
	}
}

// vectorWrites are the writes of vectors, with the victim's person.
func vectorWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"PutEmbeddings": func(ctx context.Context, v victim) (any, error) {
			return nil, search.PutEmbeddings(ctx, u, 1, []vector.Row{{
				ConnectionID: v.connection, Model: "stolen", Dimensions: 1, ContentHash: "stolen", Vector: vector.Vector{1},
			}}, []string{v.connection})
		},
	}
}
