package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/embedder"
	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/tenant"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	importsv1 "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
)

// importService implements ImportService.
type importService struct {
	importTools
	embedTools
}

type embedTools struct {
	jobs     Jobs
	provider embedding.Provider
}

// EmbedObjects implements the RPC.
func (h *embedTools) EmbedObjects(ctx context.Context, req *importsv1.EmbedObjectsRequest) (*importsv1.EmbedObjectsResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	params := embedder.Params{All: req.OnlyStale != nil && !req.GetOnlyStale()}
	j, started, err := embedder.Start(ctx, u, h.provider, tenant.PrincipalFrom(ctx).EmbeddingsHost, params, priceOf(ctx))
	if err != nil {
		return nil, err
	}
	if started {
		afterCommit(ctx, h.jobs.Wake)
	} else {
		waive(ctx)
	}
	return &importsv1.EmbedObjectsResponse{TaskId: j.Number}, nil
}

// localProvider is what answers call the built-in provider.
const localProvider = "local"

func embeddingsMessage(p embedding.Provider, caller *tenant.Principal) *accountv1.Embeddings {
	m := &accountv1.Embeddings{Provider: localProvider, Model: p.Model(), Allowed: recall.Allowed(p, caller.EmbeddingsHost)}
	if host := p.Host(); host != "" {
		m.Provider = host
	}
	return m
}
