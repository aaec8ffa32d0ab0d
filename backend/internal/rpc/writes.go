package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

type unitKey struct{}

// unitFrom returns the write transaction of a call.
func unitFrom(ctx context.Context) (*store.Unit, error) {
	u, ok := ctx.Value(unitKey{}).(*store.Unit)
	if !ok {
		return nil, errors.New("no transaction: the contract declares this RPC as reading")
	}
	return u, nil
}

// inTransaction runs every writing RPC in one transaction of the caller's
// tenant, which is committed when the handler succeeds.
func inTransaction(rpcs *catalog.Catalog, data *store.Store) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			rule, known := rpcs.Procedure(req.Spec().Procedure)
			p := tenant.PrincipalFrom(ctx)
			if !known || !rule.Writes || p == nil {
				return next(ctx, req)
			}
			actor := store.Actor{CredentialID: p.Credential.ID, CredentialName: p.Credential.Name}
			if rule.Tool != nil {
				actor.Tool = rule.Tool.Name
			}
			var res connect.AnyResponse
			err := data.Tenant(p.Tenant, p.ReadOnly).Write(ctx, actor, func(ctx context.Context, u *store.Unit) error {
				var err error
				res, err = next(context.WithValue(ctx, unitKey{}, u), req)
				return err
			})
			if err != nil {
				return nil, err
			}
			return res, nil
		}
	}
}
