package rpc

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// Headers of an answer that tell what the call cost.
const (
	HeaderCharged   = "Kith-Credits-Charged"
	HeaderRemaining = "Kith-Credits-Remaining"
	HeaderReset     = "Kith-Credits-Reset"
)

// writeTimeout bounds a write, which goes on when its caller hangs up.
const writeTimeout = 30 * time.Second

// execution runs calls that passed every check: a write in one transaction with
// its price, a read with its price after it, and a keyed one once.
type execution struct {
	rpcs  *catalog.Catalog
	store *store.Store
	meter *credit.Meter
	errs  *translator
	keyed func(outcome string) // may be nil
}

// invocation is one call on its way through an execution.
type invocation struct {
	rule      *catalog.RPC
	principal *tenant.Principal
	request   connect.AnyRequest
	next      connect.UnaryFunc
	key       *idempotency.Key // nil without one
	free      bool             // nothing was done that has a price
	replayed  bool             // the answer is an earlier call's
	kept      bool             // the answer was kept, though it is a failure
	committed []func()
}

type invocationKey struct{}

// waive makes a write free that found its work already done.
func waive(ctx context.Context) {
	if c, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		c.free = true
	}
}

// afterCommit has fn called once the write is committed.
func afterCommit(ctx context.Context, fn func()) {
	if c, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		c.committed = append(c.committed, fn)
	}
}

// priceOf is what the call will cost.
func priceOf(ctx context.Context) int {
	if c, ok := ctx.Value(invocationKey{}).(*invocation); ok {
		return c.price()
	}
	return 0
}

func (x *execution) interceptor() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			rule, known := x.rpcs.Procedure(req.Spec().Procedure)
			p := tenant.PrincipalFrom(ctx)
			if !known || p == nil {
				return next(ctx, req)
			}
			key, err := keyOf(req.Header(), rule, p)
			if err != nil {
				return nil, err
			}
			call := &invocation{rule: rule, principal: p, request: req, next: next, key: key}
			return x.run(ctx, call)
		}
	}
}

func (x *execution) run(ctx context.Context, c *invocation) (res connect.AnyResponse, err error) {
	if c.key != nil && x.keyed != nil {
		defer func() { x.keyed(c.keyOutcome(err)) }()
	}
	switch {
	case c.rule.Writes:
		return x.write(ctx, c)
	case c.key != nil:
		return x.readOnce(ctx, c)
	default:
		return x.read(ctx, c)
	}
}

// price is what a successful call costs; 0 for a demo account.
func (c *invocation) price() int {
	if c.rule.Tool == nil || c.principal.ReadOnly {
		return 0
	}
	return c.rule.Tool.Credits
}

func (c *invocation) charge() credit.Charge {
	return credit.Charge{Tenant: c.principal.Tenant, Tool: c.rule.Tool.Name, Price: c.price()}
}

func (c *invocation) actor() store.Actor {
	actor := store.Actor{CredentialID: c.principal.Credential.ID, CredentialName: c.principal.Credential.Name}
	if c.rule.Tool != nil {
		actor.Tool = c.rule.Tool.Name
	}
	return actor
}

// read answers, and charges for the answer. One that cannot be paid for is dropped.
func (x *execution) read(ctx context.Context, c *invocation) (connect.AnyResponse, error) {
	res, err := c.next(ctx, c.request)
	if err != nil || c.price() == 0 {
		return res, err
	}
	receipt, err := x.meter.Charge(ctx, c.charge())
	if err != nil {
		return nil, err
	}
	tellReceipt(res.Header(), receipt)
	return res, nil
}

// write runs the handler in one transaction of the tenant, and its price in the
// same. It goes on when the caller hangs up, who may never learn that it did.
func (x *execution) write(ctx context.Context, c *invocation) (res connect.AnyResponse, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	defer func() {
		if err == nil {
			for _, fn := range c.committed {
				fn()
			}
		}
	}()
	if c.key != nil {
		return x.writeOnce(ctx, c)
	}
	data, month, err := x.open(ctx, c)
	if err != nil {
		return nil, err
	}
	err = data.Write(ctx, c.actor(), func(ctx context.Context, u *store.Unit) (err error) {
		res, err = c.effect(ctx, u, month)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// open returns the caller's data, and the month that a priced write is charged to.
func (x *execution) open(ctx context.Context, c *invocation) (data *store.Tenant, month credit.Month, err error) {
	data = x.store.Tenant(c.principal.Tenant, c.principal.ReadOnly)
	if c.price() > 0 {
		month, err = data.OpenMonth(ctx)
	}
	return data, month, err
}

// effect runs the handler in a transaction and charges for it at its end.
func (c *invocation) effect(ctx context.Context, u *store.Unit, month credit.Month) (connect.AnyResponse, error) {
	ctx = context.WithValue(context.WithValue(ctx, unitKey{}, u), invocationKey{}, c)
	res, err := c.next(ctx, c.request)
	if err != nil || c.free || c.price() == 0 {
		return res, err
	}
	receipt, err := u.Charge(ctx, month, c.price())
	if err != nil {
		return nil, err
	}
	tellReceipt(res.Header(), receipt)
	return res, nil
}

func tellReceipt(h http.Header, r credit.Receipt) {
	h[HeaderCharged] = []string{strconv.Itoa(r.Charged)}
	h[HeaderRemaining] = []string{strconv.Itoa(r.Remaining)}
	h[HeaderReset] = []string{r.ResetsAt.UTC().Format(time.RFC3339)}
}
