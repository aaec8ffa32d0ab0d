package rpc

import (
	"context"
	"encoding/json"
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
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
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
	// writers are the handlers that run in a transaction, by procedure.
	writers map[string]writer
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
		if res, err = x.write(ctx, c); err == nil {
			err = x.complete(ctx, c, res)
		}
		return res, err
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

// complete completes the answer of a write that is committed, also if the answer is an earlier call's.
func (x *transactions) complete(ctx context.Context, c *invocation, res connect.AnyResponse) error {
	after := x.writers[c.rule.Procedure].after
	req, _ := c.request.Any().(proto.Message)
	answer, _ := res.Any().(proto.Message)
	if after == nil || answer == nil {
		return nil
	}
	kept, ok := answer.(*rendered)
	if ok {
		answer = kept.Message
	}
	after(call.With(ctx, &c.state), req, answer)
	var err error
	if ok {
		kept.text, err = x.codec.Marshal(answer)
	}
	return err
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
	h[connectheader.CreditsCharged] = []string{strconv.Itoa(r.Charged)}
	h[connectheader.CreditsRemaining] = []string{strconv.Itoa(r.Remaining)}
	h[connectheader.CreditsReset] = []string{r.ResetsAt.UTC().Format(time.RFC3339)}
}

// maxFingerprint bounds a fingerprint, in characters; SHA-256 in hex has 64.
const maxFingerprint = 128

// keyOf returns the key of a request, or nil when it has none. A key is ignored for RPCs
// that are not calls of tools: they are not repeated.
func keyOf(h http.Header, rule *catalog.RPC, p *tenant.Principal) (*idempotency.Key, error) {
	lines := h.Values(connectheader.IdempotencyKey)
	if len(lines) == 0 || rule.Tool == nil && rule.Procedure != accessv1connect.AccessServiceRefuseCallProcedure {
		return nil, nil
	}
	print := h.Get(connectheader.Fingerprint)
	if len(lines) > 1 || !idempotency.Valid(lines[0]) || len(print) == 0 || len(print) > maxFingerprint {
		return nil, fault.New(fault.Invalid, "send one %s of 1 to 255 printable ASCII characters, with a %s", connectheader.IdempotencyKey, connectheader.Fingerprint)
	}
	k := &idempotency.Key{Scope: p.Credential.ID, Name: lines[0], Fingerprint: print, Tenant: p.Tenant}
	if p.ReadOnly {
		// All visitors of the sandbox share a credential, so each is identified by address,
		// with the bounds of a caller without a credential.
		k.Scope, k.Tenant = idempotency.AddressScope(h.Get(connectheader.SandboxVisitor)), ""
	}
	return k, nil
}

// read serves an RPC that writes nothing.
func read[Req, Res any](s *services, procedure string, fn func(context.Context, *Req) (*Res, error)) {
	leaveOut := recordFilter(methodOf(procedure))
	mount(s, procedure, func(ctx context.Context, req *Req) (*Res, error) {
		res, err := fn(ctx, req)
		if err == nil {
			leaveOut(any(req).(proto.Message), any(res).(proto.Message)) //nolint:forcetypeassert // messages of the contract
		}
		return res, err
	})
}

// mount adds the handler of a procedure.
func mount[Req, Res any](s *services, procedure string, fn func(context.Context, *Req) (*Res, error)) {
	method := methodOf(procedure)
	options := append(slices.Clip(s.options), connect.WithSchema(method))
	if declared, ok := method.Options().(*descriptorpb.MethodOptions); ok && declared.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
		options = append(options, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	}
	s.procedures = append(s.procedures, procedure)
	s.mux.Handle(procedure, connect.NewUnaryHandlerSimple(procedure, fn, options...))
}

// write serves an RPC that runs in one transaction of the caller's tenant. An answer with the id of a change has its summary.
func write[Req, Res any](s *services, procedure string, handler func(context.Context, *db.Tx, *Req) (*Res, error)) {
	leaveOut := recordFilter(methodOf(procedure))
	fn := func(ctx context.Context, tx *db.Tx, req *Req) (*Res, error) {
		res, err := handler(ctx, tx, req)
		if err == nil {
			answer := any(res).(proto.Message) //nolint:forcetypeassert // a message of the contract
			summarise(ctx, answer)
			leaveOut(any(req).(proto.Message), answer) //nolint:forcetypeassert // a message of the contract
		}
		return res, err
	}
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
	mount(s, procedure, func(ctx context.Context, req *Req) (*Res, error) {
		tx, ok := ctx.Value(txKey{}).(*db.Tx)
		if !ok {
			return nil, errors.New("no transaction: the contract declares this RPC as reading")
		}
		return fn(ctx, tx, req)
	})
}

// summarise sets the field summary of an answer that names the change that the call recorded.
func summarise(ctx context.Context, res proto.Message) {
	changeID, summary := call.Change(ctx)
	m := res.ProtoReflect()
	id, field := m.Descriptor().Fields().ByName("change_id"), m.Descriptor().Fields().ByName("summary")
	if changeID != "" && id != nil && field != nil && m.Get(id).String() == changeID {
		m.Set(field, protoreflect.ValueOfString(summary))
	}
}

// after makes a write complete its answer when its transaction is committed.
func after[Req, Res any](s *services, procedure string, fn func(context.Context, *Req, *Res)) {
	w := s.writers[procedure]
	w.after = func(ctx context.Context, req, res proto.Message) {
		fn(ctx, any(req).(*Req), any(res).(*Res)) //nolint:forcetypeassert // messages of the procedure
	}
	s.writers[procedure] = w
}

// txKey is the context key under which the pipeline passes the transaction to write.
type txKey struct{}

// methodOf returns a procedure's description; the contract has one for each.
func methodOf(procedure string) protoreflect.MethodDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", "."))
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(name)
	return found.(protoreflect.MethodDescriptor) //nolint:forcetypeassert // its generated name says so
}

// The states of the key, in connectheader.Idempotency.
const (
	stateReplayed = "replayed"  // this is the answer of an earlier request
	stateInFlight = "in_flight" // the earlier request is not answered yet
	stateReused   = "reused"    // the key belongs to another request
)

// countKey counts how a call with a key ended.
func (x *transactions) countKey(c *invocation, err error) {
	if x.keyOutcome != nil {
		x.keyOutcome(c.keyOutcome(err))
	}
}

// keyOutcome returns the outcome for the call's key, as metrics.Calls counts it.
func (c *invocation) keyOutcome(err error) string {
	switch {
	case c.replayed:
		return metrics.KeyReplayed
	case fault.Is(err, fault.InFlight):
		return metrics.KeyInFlight
	case fault.Is(err, fault.KeyReused):
		return metrics.KeyReused
	case err == nil, c.kept:
		return metrics.KeyKept
	default:
		return metrics.KeyDropped
	}
}

// claim reserves the call's key. When another call has it, claim returns that call's
// answer if it is stored by now, and otherwise fault.InFlight.
func (x *transactions) claim(ctx context.Context, c *invocation) (release func(), old []byte, err error) {
	if release, err = x.keys.ClaimKey(*c.key); err == nil {
		return release, nil, nil
	}
	if old, findErr := x.keys.FindAnswer(ctx, *c.key); old != nil || findErr != nil {
		return nil, old, findErr
	}
	return nil, nil, err
}

// writeOnce is write for a call with a key. A failure rolls back the effect and its price;
// the failure itself is stored separately.
func (x *transactions) writeOnce(ctx context.Context, c *invocation) (connect.AnyResponse, error) {
	release, old, err := x.claim(ctx, c)
	if release == nil {
		return x.replay(c, old, err)
	}
	defer release()
	data, month, err := x.open(ctx, c)
	if err != nil {
		return nil, err
	}
	return x.commitOnce(ctx, c, data, func(ctx context.Context, u *db.Tx) (connect.AnyResponse, error) {
		return x.effect(ctx, c, u, month)
	})
}

// commitOnce runs the effect of a call and stores its answer, in one transaction.
func (x *transactions) commitOnce(
	ctx context.Context, c *invocation, data *db.Tenant, effect func(context.Context, *db.Tx) (connect.AnyResponse, error),
) (res connect.AnyResponse, err error) {
	var failure error // of the effect
	old, err := x.keys.WriteOnce(ctx, data, c.actor(), *c.key, func(ctx context.Context, u *db.Tx) ([]byte, error) {
		if res, failure = effect(ctx, u); failure != nil {
			return nil, failure
		}
		var body []byte
		if res, body, failure = x.codec.response(res); failure != nil {
			return nil, failure
		}
		if len(body) > c.key.MaxAnswer() {
			// Stored without a body: the write must not be done twice.
			return encodeFailure(connect.NewError(connect.CodeFailedPrecondition, errTooLarge))
		}
		return body, nil
	})
	if old != nil {
		return x.replay(c, old, nil)
	}
	if err != nil && failure != nil {
		return x.keepFailure(ctx, c, x.asked(ctx, c, data, err))
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// readOnce is read for a call with a key. One transaction charges for the answer and
// stores it.
func (x *transactions) readOnce(ctx context.Context, c *invocation) (connect.AnyResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), x.timeout)
	defer cancel()
	release, old, err := x.claim(ctx, c)
	if release == nil {
		return x.replay(c, old, err)
	}
	defer release()
	if old, err := x.keys.FindAnswer(ctx, *c.key); old != nil || err != nil {
		return x.replay(c, old, err)
	}
	res, err := c.next(call.With(ctx, &c.state), c.request)
	if err != nil {
		return x.keepFailure(ctx, c, err)
	}
	if c.state.Effect != nil {
		return x.writeAfter(ctx, c, res)
	}
	var charge *billing.Charge
	if c.price() > 0 {
		price := c.charge()
		charge = &price
	}
	old, err = x.keys.KeepAnswer(ctx, *c.key, charge, func(receipt billing.Receipt) (body []byte, err error) {
		if charge != nil {
			setReceiptHeaders(res.Header(), receipt)
		}
		res, body, err = x.codec.response(res)
		if len(body) > min(c.key.MaxAnswer(), idempotency.MaxRead) {
			body = nil // a read can be repeated
		}
		return body, err
	})
	if short := (*billing.Shortage)(nil); errors.As(err, &short) {
		return x.keepFailure(ctx, c, err)
	}
	if old != nil || err != nil {
		return x.replay(c, old, err)
	}
	return res, nil
}

// invalid ends a call whose arguments are not valid. With a key, the failure is stored.
func (x *transactions) invalid(ctx context.Context, c *invocation, wrong error) (res connect.AnyResponse, err error) {
	if c.key == nil {
		return nil, wrong
	}
	defer func() { x.countKey(c, err) }()
	release, old, err := x.claim(ctx, c)
	if release == nil {
		return x.replay(c, old, err)
	}
	defer release()
	return x.keepFailure(ctx, c, wrong)
}

// refuse returns the error for a call that its credential may not make. With a key, the refusal is
// stored, and an earlier refusal is repeated. An earlier answer is not: the caller may not read it
// any more.
func (x *transactions) refuse(ctx context.Context, h http.Header, rule *catalog.RPC, p *tenant.Principal, refused *connect.Error) (err error) {
	key, err := keyOf(h, rule, p)
	if err != nil {
		return x.errs.translate(ctx, err)
	}
	if key == nil {
		return refused
	}
	c := &invocation{rule: rule, principal: p, key: key}
	defer func() { x.countKey(c, err) }()
	release, old, err := x.claim(ctx, c)
	if release != nil {
		defer release()
		old, err = x.keep(ctx, c, refused)
	}
	if err != nil {
		return x.errs.translate(ctx, err)
	}
	var kept keptResponse
	if old == nil || json.Unmarshal(old, &kept) != nil || kept.Failure == nil {
		return refused
	}
	c.replayed = true
	return kept.failure()
}

// keepFailure stores the failure of a call with a key, unless it is temporary.
func (x *transactions) keepFailure(ctx context.Context, c *invocation, err error) (connect.AnyResponse, error) {
	wire := x.errs.wire(ctx, err)
	old, keepErr := x.keep(ctx, c, wire)
	if old != nil || keepErr != nil {
		return x.replay(c, old, keepErr)
	}
	return nil, wire
}

// keep stores a failure, unless it is temporary. When the call was answered meanwhile, it returns
// the stored answer.
func (x *transactions) keep(ctx context.Context, c *invocation, wire *connect.Error) (old []byte, err error) {
	if !lasting(wire.Code()) {
		return nil, nil
	}
	body, err := encodeFailure(wire)
	if err != nil {
		return nil, err
	}
	old, err = x.keys.KeepAnswer(ctx, *c.key, nil, func(billing.Receipt) ([]byte, error) { return body, nil })
	c.kept = old == nil && err == nil
	return old, err
}

// lasting reports whether a failure with the code binds the key. The others are those that the
// caller should try again: with another token, or later.
func lasting(code connect.Code) bool {
	switch code {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeAlreadyExists, connect.CodeAborted,
		connect.CodeFailedPrecondition, connect.CodeOutOfRange, connect.CodePermissionDenied, connect.CodeResourceExhausted:
		return true
	default:
		return false
	}
}

// replay returns a stored answer.
func (x *transactions) replay(c *invocation, old []byte, err error) (connect.AnyResponse, error) {
	if err != nil {
		return nil, err
	}
	c.replayed = true
	res, err := decodeResponse(c.request.Spec(), old)
	if err != nil {
		return nil, err
	}
	return res, nil
}
