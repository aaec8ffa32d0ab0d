package rpc

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Response headers that say what the call cost.
const (
	HeaderCharged   = "Kith-Credits-Charged"
	HeaderRemaining = "Kith-Credits-Remaining"
	HeaderReset     = "Kith-Credits-Reset"
)

// usualWriteTimeout bounds a write, which continues when its caller disconnects.
const usualWriteTimeout = 30 * time.Second

// transactions runs calls that passed every check. A write and its price are one
// transaction; a read is charged after it; a call with a key runs once.
type transactions struct {
	codec      jsonCodec
	rpcs       *catalog.Catalog
	store      *db.DB
	ledger     *billing.Ledger
	keys       *idempotency.Keys
	errs       *translator
	keyOutcome func(outcome string) // may be nil
	// check decodes and checks arguments.
	check func(ctx context.Context, req connect.AnyRequest) error
	// onAsked is called with the title of the tool when a call needs the member's approval, and
	// no other decision waits for them. It may be nil.
	onAsked func(p *tenant.Principal, tool string)
	// timeout bounds a write.
	timeout time.Duration
	// baseURL is the public address of the service.
	baseURL string
}

// invocation is one call on its way through transactions.
type invocation struct {
	rule      *catalog.RPC
	principal *tenant.Principal
	request   connect.AnyRequest
	next      connect.UnaryFunc
	key       *idempotency.Key // nil without one
	state     call.State       // shared by the handlers and the pipeline
	replayed  bool             // the answer is an earlier call's
	kept      bool             // the answer was stored, though it is a failure
}

func (x *transactions) interceptor() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			wrong := x.check(ctx, req)
			rule, known := x.rpcs.Procedure(req.Spec().Procedure)
			p := tenant.PrincipalFrom(ctx)
			if !known || p == nil {
				if wrong != nil {
					return nil, wrong
				}
				return next(ctx, req)
			}
			key, err := keyOf(req.Header(), rule, p)
			if err != nil {
				return nil, err
			}
			c := &invocation{rule: rule, principal: p, request: req, next: next, key: key}
			c.state.Allows = func(tool string) bool {
				other, ok := x.rpcs.Tool(tool)
				return ok && permit(other, p) == nil
			}
			if wrong != nil {
				return x.invalid(ctx, c, wrong)
			}
			return x.run(ctx, c)
		}
	}
}

func (x *transactions) run(ctx context.Context, c *invocation) (res connect.AnyResponse, err error) {
	if c.key != nil {
		defer func() { x.countKey(c, err) }()
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

func (c *invocation) charge() billing.Charge {
	return billing.Charge{
		Tenant: c.principal.Tenant, Tool: c.rule.Tool.Name, Price: c.price(),
		CredentialID: c.principal.Credential.ID, CredentialName: c.principal.Credential.Name,
	}
}

func (c *invocation) actor() db.Actor {
	actor := db.Actor{CredentialID: c.principal.Credential.ID, CredentialName: c.principal.Credential.Name}
	if c.rule.Tool != nil {
		actor.Tool = c.rule.Tool.Name
	}
	return actor
}

// read runs the handler, and charges for its answer. When the credits don't cover it, the
// answer is dropped.
func (x *transactions) read(ctx context.Context, c *invocation) (connect.AnyResponse, error) {
	res, err := c.next(call.With(ctx, &c.state), c.request)
	if err == nil && c.state.Effect != nil {
		return x.writeAfter(ctx, c, res)
	}
	if err != nil || c.price() == 0 {
		return res, err
	}
	receipt, err := x.ledger.ChargeRead(ctx, c.charge())
	if err != nil {
		return nil, err
	}
	setReceiptHeaders(res.Header(), receipt)
	return res, nil
}

// write runs the handler and charges its price in one transaction of the tenant. It
// continues when the caller disconnects, who then may not learn of its success.
func (x *transactions) write(ctx context.Context, c *invocation) (res connect.AnyResponse, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(call.QuotaContext(ctx, c.request.Any())), x.timeout)
	defer cancel()
	if c.key != nil {
		return x.writeOnce(ctx, c)
	}
	data, month, err := x.open(ctx, c)
	if err != nil {
		return nil, err
	}
	err = data.Write(ctx, c.actor(), func(ctx context.Context, u *db.Tx) (err error) {
		res, err = x.effect(ctx, c, u, month)
		return err
	})
	if err != nil {
		return nil, x.asked(ctx, c, data, err)
	}
	return res, nil
}

// writeAfter runs the effect of a read that has answered. The effect, the price and, with a
// key, the answer are one transaction.
func (x *transactions) writeAfter(ctx context.Context, c *invocation, res connect.AnyResponse) (connect.AnyResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(db.WithoutQuota(ctx)), x.timeout)
	defer cancel()
	data, month, err := x.open(ctx, c)
	if err != nil {
		return nil, err
	}
	c.state.Price = c.price()
	ctx = call.With(ctx, &c.state)
	run := func(ctx context.Context, u *db.Tx) error {
		if err := c.state.Effect(ctx, u); err != nil || c.state.Free || c.price() == 0 {
			return err
		}
		receipt, err := x.ledger.ChargeTx(ctx, u, month, c.price())
		if err != nil {
			return err
		}
		setReceiptHeaders(res.Header(), receipt)
		return billing.CountRead(ctx, u)
	}
	if c.key == nil {
		if err := data.Write(ctx, c.actor(), run); err != nil {
			return nil, err
		}
		return res, nil
	}
	return x.commitOnce(ctx, c, data, func(ctx context.Context, u *db.Tx) (connect.AnyResponse, error) { return res, run(ctx, u) })
}

// open returns the caller's data, and the month that a priced write is charged to.
func (x *transactions) open(ctx context.Context, c *invocation) (data *db.Tenant, month billing.Month, err error) {
	data = x.store.Tenant(c.principal.Tenant, c.principal.ReadOnly)
	if c.price() > 0 {
		month, err = x.ledger.OpenMonth(ctx, c.principal.Tenant)
	}
	return data, month, err
}

// effect runs the handler in a transaction and charges for it at its end.
func (x *transactions) effect(ctx context.Context, c *invocation, u *db.Tx, month billing.Month) (connect.AnyResponse, error) {
	ctx = context.WithValue(call.With(ctx, &c.state), txKey{}, u)
	c.state.Price = c.price()
	run := c.next
	if c.asks() {
		run = func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) { return c.ask(ctx, u) }
	}
	res, err := run(ctx, c.request)
	if err != nil || c.state.Free || c.price() == 0 {
		return res, err
	}
	receipt, err := x.ledger.ChargeTx(ctx, u, month, c.price())
	if err != nil {
		return nil, err
	}
	setReceiptHeaders(res.Header(), receipt)
	return res, nil
}

func setReceiptHeaders(h http.Header, r billing.Receipt) {
	h[HeaderCharged] = []string{strconv.Itoa(r.Charged)}
	h[HeaderRemaining] = []string{strconv.Itoa(r.Remaining)}
	h[HeaderReset] = []string{r.ResetsAt.UTC().Format(time.RFC3339)}
}

// maxFingerprint bounds a fingerprint, in characters; SHA-256 in hex has 64.
const maxFingerprint = 128

// keyOf returns the key of a request, or nil when it has none. A key is ignored for RPCs
// that are not calls of tools: they are not repeated.
func keyOf(h http.Header, rule *catalog.RPC, p *tenant.Principal) (*idempotency.Key, error) {
	lines := h.Values(HeaderIdempotencyKey)
	if len(lines) == 0 || rule.Tool == nil && rule.Procedure != accessv1connect.AccessServiceRefuseCallProcedure {
		return nil, nil
	}
	print := h.Get(HeaderFingerprint)
	if len(lines) > 1 || !idempotency.Valid(lines[0]) || len(print) == 0 || len(print) > maxFingerprint {
		return nil, fault.New(fault.Invalid, "send one %s of 1 to 255 printable ASCII characters, with a %s", HeaderIdempotencyKey, HeaderFingerprint)
	}
	k := &idempotency.Key{Scope: p.Credential.ID, Name: lines[0], Fingerprint: print, Tenant: p.Tenant}
	if p.ReadOnly {
		// All visitors of the sandbox share a credential, so each is identified by address,
		// with the bounds of a caller without a credential.
		k.Scope, k.Tenant = idempotency.AddressScope(h.Get(HeaderSandboxVisitor)), ""
	}
	return k, nil
}

// read serves an RPC that writes nothing.
func read[Req, Res any](s *services, procedure string, fn func(context.Context, *Req) (*Res, error)) {
	method := methodOf(procedure)
	options := append(slices.Clip(s.options), connect.WithSchema(method))
	if declared, ok := method.Options().(*descriptorpb.MethodOptions); ok && declared.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
		options = append(options, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	}
	s.procedures = append(s.procedures, procedure)
	s.mux.Handle(procedure, connect.NewUnaryHandlerSimple(procedure, fn, options...))
}

// write serves an RPC that runs in one transaction of the caller's tenant.
func write[Req, Res any](s *services, procedure string, fn func(context.Context, *db.Tx, *Req) (*Res, error)) {
	s.writers[procedure] = writer{
		request: func() proto.Message { return any(new(Req)).(proto.Message) }, //nolint:forcetypeassert // a message of the contract
		handle: func(ctx context.Context, tx *db.Tx, req proto.Message) (proto.Message, error) {
			res, err := fn(ctx, tx, any(req).(*Req)) //nolint:forcetypeassert // made by request
			if err != nil {
				return nil, err
			}
			return any(res).(proto.Message), nil //nolint:forcetypeassert // a message of the contract
		},
	}
	read(s, procedure, func(ctx context.Context, req *Req) (*Res, error) {
		tx, ok := ctx.Value(txKey{}).(*db.Tx)
		if !ok {
			return nil, errors.New("no transaction: the contract declares this RPC as reading")
		}
		return fn(ctx, tx, req)
	})
}

// txKey is the context key under which the pipeline passes the transaction to write.
type txKey struct{}

// methodOf returns a procedure's description; the contract has one for each.
func methodOf(procedure string) protoreflect.MethodDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", "."))
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(name)
	return found.(protoreflect.MethodDescriptor) //nolint:forcetypeassert // its generated name says so
}
