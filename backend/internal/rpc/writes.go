package rpc

import (
	"context"
	"errors"

	"github.com/kith-crm/kith/backend/internal/store"
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
