package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"
)

// Headers of a request that may be repeated, and of the answer to it.
const (
	// HeaderIdempotencyKey carries the key, HeaderFingerprint a hash of the public
	// request that it stands for.
	HeaderIdempotencyKey = "Kith-Idempotency-Key"
	HeaderFingerprint    = "Kith-Request-Fingerprint"
	// HeaderIdempotency is a response header with one of the states below, or absent.
	HeaderIdempotency = "Kith-Idempotency"
)

// The states of the key.
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
