package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/text"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// question is the error that rolls back a call that needs the approval of the member.
type question struct {
	call decision.Call
	// waits is the decision that an earlier call like it waits for; nil if there is none.
	waits *decision.Decision
}

func (*question) Error() string { return "this needs the approval of the member" }

// asks reports whether the call may need the approval of the member.
func (c *invocation) asks() bool {
	return c.rule.Tool != nil && slices.ContainsFunc(c.rule.Tool.Acts, c.principal.Credential.Asks.Before)
}

// ask wraps the handler of a call: it fails with a question if the call needs the approval of the member.
func (c *invocation) ask(ctx context.Context, u *db.Tx) (connect.AnyResponse, error) {
	req, ok := c.request.Any().(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", c.request.Any())
	}
	q := &question{}
	binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	sum := sha256.Sum256(binary)
	q.call.Fingerprint = hex.EncodeToString(sum[:])
	if q.waits, err = decision.Find(ctx, u, q.call.Fingerprint); err != nil {
		return nil, err
	}
	if q.waits != nil {
		return nil, q
	}
	res, err := c.next(ctx, c.request)
	if err != nil {
		return nil, err
	}
	answer, ok := res.Any().(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", res.Any())
	}
	did, err := decision.Measure(ctx, u, req, answer)
	if err != nil {
		return nil, err
	}
	acts := did.Acts(c.rule.Tool.Acts, c.principal.Credential.Asks)
	if len(acts) == 0 {
		return res, nil
	}
	arguments, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments: %w", err)
	}
	q.call.Arguments, q.call.Kinds, q.call.Preview = string(arguments), strings.Join(acts, " "), did.Preview
	q.call.Preview.Price = c.price()
	return nil, q
}

// asked stores the question that a call ended with, and returns the error for the caller. Any
// other error stays as it is.
func (x *transactions) asked(ctx context.Context, c *invocation, data *db.Tenant, err error) error {
	var q *question
	if !errors.As(err, &q) {
		return err
	}
	waits, first := q.waits, false
	if waits == nil {
		err := data.Write(db.WithoutQuota(ctx), c.actor(), func(ctx context.Context, u *db.Tx) (err error) {
			waits, first, err = decision.Ask(ctx, u, q.call)
			return err
		})
		if err != nil {
			return err
		}
	}
	if first && x.onAsked != nil {
		x.onAsked(c.principal, c.rule.Tool.Title)
	}
	return approvalNeeded(waits, x.baseURL)
}

// maxSummary bounds how much of the summary of a call its error quotes, in characters.
const maxSummary = 120

// approvalNeeded is the error of a call that waits for the member's decision.
func approvalNeeded(d *decision.Decision, baseURL string) error {
	decide := baseURL + decision.Path
	err := connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("approval_needed: this needs the approval of the member, so nothing was done or charged yet. "+
		"They see what it would do on %s: %s. Do not repeat the call. Tell them, and read with get_job, task_id %d, whether it was done; they have 7 days",
		decide, text.QuoteUpTo(d.Preview.Summary, maxSummary), d.TaskID))
	needed := &accessv1.Approval{TaskId: d.TaskID, DecideUrl: decide, ExpiresAt: call.Timestamp(d.ExpiresAt)}
	if detail, detailErr := connect.NewErrorDetail(needed); detailErr == nil {
		err.AddDetail(detail)
	}
	return err
}
