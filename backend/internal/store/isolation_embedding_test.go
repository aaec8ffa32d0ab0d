package store_test

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/store"
)

// keepVector gives a member a vector whose model is about the secret.
func keepVector(ctx context.Context, u *store.Unit, connectionID string) error {
	return u.PutEmbeddings(ctx, 1, []embedding.Row{{
		ConnectionID: connectionID, Model: secret, Dimensions: 2, ContentHash: secret, Vector: embedding.Vector{1, 0},
	}}, nil)
}

// vectorReads drives what a Tenant does about vectors, with the victim's model.
func vectorReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListCandidates": func(ctx context.Context, _ victim) (any, error) {
			some, err := data.ListCandidates(ctx, secret, "", 100, false)
			if err != nil {
				return nil, err
			}
			all, err := data.ListCandidates(ctx, secret, "", 100, true)
			return []any{some.People, all.People}, err
		},
		"LoadVectors": func(ctx context.Context, v victim) (any, error) {
			found, err := data.LoadVectors(ctx, secret, -1)
			if slices.Contains(found.IDs, v.connection) {
				return secret, err
			}
			return found, err
		},
	}
}

// vectorWrites drives what a Unit does about vectors, with the victim's person.
func vectorWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"PutEmbeddings": func(ctx context.Context, v victim) (any, error) {
			return nil, u.PutEmbeddings(ctx, 1, []embedding.Row{{
				ConnectionID: v.connection, Model: "stolen", Dimensions: 1, ContentHash: "stolen", Vector: embedding.Vector{1},
			}}, []string{v.connection})
		},
	}
}
