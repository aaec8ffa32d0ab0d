package rpc

import (
	"context"
	"errors"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
)

// accounts implements AccountService and AccessService: both return information about
// the caller.
type accounts struct {
	db       *db.DB
	rpcs     *catalog.Catalog
	ledger   *billing.Ledger
	provider vector.Provider
	now      func() time.Time
}

func (h *accounts) GetAccount(ctx context.Context, req *accountv1.GetAccountRequest) (*accountv1.GetAccountResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	res := &accountv1.GetAccountResponse{
		Member: &accountv1.Member{
			Username: p.Username, Name: p.DisplayName, Timezone: p.Timezone, Locale: p.Locale, Plan: p.Plan, ReadOnly: p.ReadOnly,
			Today: h.today(ctx),
		},
		Credential: &accountv1.Credential{
			Id: p.Credential.ID, Kind: p.Credential.Kind, Name: p.Credential.Name,
			Scopes: p.Credential.Scopes, ExpiresAt: call.Timestamp(p.Credential.ExpiresAt), Tools: p.Credential.Tools,
			GrantExpiresAt: call.Timestamp(p.Credential.GrantExpiresAt),
		},
		Embeddings: search.EmbeddingsMessage(h.provider, p),
	}
	if !p.ReadOnly {
		balance, err := h.ledger.GetCredits(ctx, p.Tenant)
		if err != nil {
			return nil, err
		}
		res.Credits = creditsMessage(balance)
		used, limit, err := h.db.Tenant(p.Tenant, true).Space(ctx)
		if err != nil {
			return nil, err
		}
		if limit > 0 {
			res.Storage = new(db.Megabytes(used) + " of " + db.Megabytes(limit))
		}
	}
	for _, rpc := range h.rpcs.Tools() {
		if slices.Contains(req.GetInclude(), "prices") {
			res.Prices = append(res.Prices, &accountv1.ToolPrice{Tool: rpc.Tool.Name, Credits: new(int32(rpc.Tool.Credits))})
		}
		reason := ""
		switch {
		case rpc.Writes && p.ReadOnly:
			reason = reasonReadOnly
		case !rpc.WithinLimit(p.Credential.Tools):
			reason = reasonToolLimit
		case len(rpc.Missing(p.Credential.Scopes)) > 0:
			reason = reasonMissingScope
		default:
			continue
		}
		res.UnavailableTools = append(res.UnavailableTools, &accountv1.UnavailableTool{
			Tool: rpc.Tool.Name, Reason: reason, RequiredScopes: rpc.Scopes,
		})
	}
	return res, nil
}

// today returns the current day in the member's time zone.
func (h *accounts) today(ctx context.Context) string {
	return civil.Of(h.now(), call.ZoneOf(ctx)).Format(time.DateOnly)
}

func creditsMessage(b billing.Balance) *accountv1.Credits {
	return &accountv1.Credits{
		Period: b.Period, Allowance: new(int32(b.Allowance)), Used: new(int32(b.Used())), Remaining: new(int32(b.Remaining)), ResetsAt: call.Timestamp(b.ResetsAt),
	}
}

// RefuseCall fails with the error that the edge gives, so that the pipeline stores it under the key.
func (h *accounts) RefuseCall(_ context.Context, req *accessv1.RefuseCallRequest) (*accessv1.RefuseCallResponse, error) {
	refused := connect.NewError(connect.CodeInvalidArgument, errors.New(req.GetError().GetMessage()))
	detail, err := connect.NewErrorDetail(req.GetError())
	if err != nil {
		return nil, err
	}
	refused.AddDetail(detail)
	return nil, refused
}

func (h *accounts) GetPrincipal(ctx context.Context, _ *accessv1.GetPrincipalRequest) (*accessv1.GetPrincipalResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	return &accessv1.GetPrincipalResponse{
		Username: p.Username, CredentialId: p.Credential.ID, CredentialKind: p.Credential.Kind,
		CredentialName: p.Credential.Name, ClientId: p.Credential.ClientID, Scopes: p.Credential.Scopes,
		ExpiresAt: call.Timestamp(p.Credential.ExpiresAt), ReadOnly: p.ReadOnly, Tools: p.Credential.Tools,
		GrantExpiresAt: call.Timestamp(p.Credential.GrantExpiresAt), Paused: p.Credential.Paused,
		Timezone: p.Timezone, Today: h.today(ctx),
	}, nil
}
