package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/catalog"
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
	c.state.Asked = true
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
	q.call.Preview.Price, q.call.Preview.Import = c.price(), c.state.Shown
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

// approvals carries out the calls that members approved.
type approvals struct {
	rpcs    *catalog.Catalog
	store   *db.DB
	ledger  *billing.Ledger
	codec   jsonCodec
	checker *arguments.Checker
	writers map[string]writer
	now     func() time.Time
	logger  *slog.Logger
}

// writer is the handler of an RPC that writes.
type writer struct {
	request func() proto.Message
	handle  func(ctx context.Context, tx *db.Tx, req proto.Message) (proto.Message, error)
	// after completes the answer once it is committed; nil for most.
	after func(ctx context.Context, req, res proto.Message)
}

// NewDecisions returns the function that runs the jobs of decisions: it makes the approved call, or
// fails with the reason why nothing was done.
func NewDecisions(o Options) (func(ctx context.Context, run *job.Run) (any, error), error) {
	checker, err := arguments.New()
	if err != nil {
		return nil, err
	}
	served := &services{mux: http.NewServeMux(), writers: map[string]writer{}}
	o.register(served)
	a := &approvals{
		rpcs: o.Catalog, store: o.Store, ledger: o.Ledger, codec: jsonCodec{answers: answersOf(o.Catalog)}, checker: checker,
		writers: served.writers, now: o.Now, logger: o.Logger,
	}
	return a.run, nil
}

// ending is the checkpoint of a job whose decision has ended: the answer of the call, or why it
// was not done.
type ending struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Failure *job.Failure    `json:"failure,omitempty"`
}

// errMoved means that a decision left the state in which it was read.
var errMoved = errors.New("the decision was made meanwhile")

// maxTries is how often run reads a decision: its state can change twice at most meanwhile.
const maxTries = 3

// run ends the job of a decision. The step that ends the decision stores the result, so that
// another worker returns the same result after a crash.
func (a *approvals) run(ctx context.Context, run *job.Run) (any, error) {
	var end ending
	if err := run.Checkpoint(&end); err != nil {
		return nil, err
	}
	for try := 0; end.Answer == nil && end.Failure == nil; try++ {
		if try == maxTries {
			return nil, errMoved
		}
		d, err := decision.OfJob(ctx, a.store.Tenant(run.Job.TenantID, false), run.Job.ID)
		if err != nil {
			return nil, err
		}
		end, err = a.end(ctx, run, d)
		if err != nil && !errors.Is(err, errMoved) {
			return nil, err
		}
	}
	if end.Failure != nil {
		return nil, end.Failure
	}
	return end.Answer, nil
}

// end ends a decision: it makes an approved call, lets a waiting decision expire, and returns the
// failure of a decision that has already ended.
func (a *approvals) end(ctx context.Context, run *job.Run, d *decision.Decision) (ending, error) {
	switch d.State {
	case decision.Approved:
		return a.execute(ctx, run, d)
	case decision.Waiting:
		return a.without(ctx, run, d, decision.Expired, decision.Ending(decision.Expired))
	}
	failure := decision.Ending(d.State)
	if failure == nil { // its step has a checkpoint
		return ending{}, fmt.Errorf("the decision of job %s is %s", run.Job.ID, d.State)
	}
	var f *job.Failure
	errors.As(failure, &f)
	return ending{Failure: f}, nil
}

// without ends a decision without making the call.
func (a *approvals) without(ctx context.Context, run *job.Run, d *decision.Decision, to string, why error) (ending, error) {
	var end ending
	if !errors.As(why, &end.Failure) {
		return end, why
	}
	err := job.WriteStepFor(db.WithoutQuota(ctx), a.store, &run.Job, func(ctx context.Context, tx *db.Tx) (job.Step, error) {
		moved, err := decision.End(ctx, tx, d, to, "")
		if err == nil && !moved {
			err = errMoved
		}
		return job.Step{Checkpoint: end}, err
	})
	if err != nil {
		return ending{}, err
	}
	return end, nil
}

// execute makes an approved call, as the agent that asked. A failure of the call ends the
// decision; after any other error nothing was done, and the job is tried again.
func (a *approvals) execute(ctx context.Context, run *job.Run, d *decision.Decision) (ending, error) {
	end, err := a.call(ctx, run, d)
	if err == nil || errors.Is(err, errMoved) {
		return end, err
	}
	if changed := (*changedSince)(nil); errors.As(err, &changed) {
		return a.askAgain(ctx, run, d, changed)
	}
	if why := a.failure(ctx, run, err); why != nil {
		return a.without(ctx, run, d, decision.Failed, why)
	}
	return ending{}, err
}

// call makes an approved call. The call, its price and the end of the decision are one step.
func (a *approvals) call(ctx context.Context, run *job.Run, d *decision.Decision) (end ending, err error) {
	p, err := oauth.Credential(ctx, a.store, d.CredentialID)
	if fault.Is(err, fault.NotFound) {
		return end, decision.Ending(decision.Cancelled)
	}
	if err != nil {
		return end, err
	}
	rule, known := a.rpcs.Tool(d.Tool)
	if !known {
		return end, job.Fail(decision.CodeChanged, "There is no tool %s any more. Nothing was done or charged.", d.Tool)
	}
	if err := permit(rule, p); err != nil {
		return end, err
	}
	w := a.writers[rule.Procedure]
	req := w.request()
	state := &call.State{Price: rule.Tool.Credits, Asked: true, Allows: func(tool string) bool {
		other, ok := a.rpcs.Tool(tool)
		return ok && permit(other, p) == nil
	}}
	ctx = tenant.WithPrincipal(call.With(ctx, state), p)
	if err := a.decode(ctx, d.Arguments, req); err != nil {
		return end, err
	}
	month, err := a.ledger.OpenMonth(ctx, p.Tenant)
	if err != nil {
		return end, err
	}
	err = job.WriteStepFor(call.QuotaContext(ctx, req), a.store, &run.Job, func(ctx context.Context, tx *db.Tx) (job.Step, error) {
		res, err := w.handle(ctx, tx, req)
		if err != nil {
			return job.Step{}, err
		}
		did, err := decision.Measure(ctx, tx, req, res)
		if err != nil {
			return job.Step{}, err
		}
		if did.Digest != d.Preview.Digest {
			did.Import = state.Shown
			return job.Step{}, &changedSince{preview: did.Preview, acts: did.Acts(rule.Tool.Acts, p.Credential.Asks)}
		}
		if !state.Free && state.Price > 0 {
			if _, err := a.ledger.ChargeTx(ctx, tx, month, state.Price); err != nil {
				return job.Step{}, err
			}
		}
		if end.Answer, err = a.codec.Marshal(res); err != nil {
			return job.Step{}, err
		}
		// If a revocation has changed the state meanwhile, everything is rolled back.
		moved, err := decision.End(ctx, tx, d, decision.Done, did.ChangeID)
		if err == nil && !moved {
			err = errMoved
		}
		return job.Step{Checkpoint: end}, err
	})
	if err != nil {
		return ending{}, err
	}
	return end, nil
}

// changedSince is the error of an approved call that would not do what the member saw. It rolls the
// call back.
type changedSince struct {
	// preview and acts are of the call as it is now; without acts it needs no approval.
	preview decision.Preview
	acts    []string
}

func (*changedSince) Error() string {
	return "what the call would do has changed since the member was asked"
}

// askAgain ends a decision whose call would not do what the member saw, and asks the member about
// the call as it is now, in one step.
func (a *approvals) askAgain(ctx context.Context, run *job.Run, d *decision.Decision, changed *changedSince) (end ending, err error) {
	const because = "What this call would do has changed since the member was asked, so nothing was done or charged. "
	if len(changed.acts) == 0 {
		return a.without(ctx, run, d, decision.Failed, job.Fail(decision.CodeChanged, because+"Read what it is about, and call again if it is still wanted."))
	}
	err = job.WriteStepFor(db.WithoutQuota(ctx), a.store, &run.Job, func(ctx context.Context, tx *db.Tx) (job.Step, error) {
		again, moved, err := decision.AskAgain(ctx, tx, d, changed.acts, changed.preview)
		if err == nil && !moved {
			err = errMoved
		}
		if err != nil {
			return job.Step{}, err
		}
		end.Failure = &job.Failure{Code: decision.CodeChanged, Detail: fmt.Sprintf("%sThe member was asked again, about the call as it is now: read job %d. Do not repeat the call.", because, again.TaskID)}
		return job.Step{Checkpoint: end}, nil
	})
	if err != nil {
		return ending{}, err
	}
	return end, nil
}

// decode reads stored arguments and checks them: the rules may have changed since the call.
func (a *approvals) decode(ctx context.Context, stored string, req proto.Message) error {
	if err := (protojson.UnmarshalOptions{}).Unmarshal([]byte(stored), req); err != nil {
		return fault.New(fault.Invalid, "the arguments are not valid any more")
	}
	problems, err := a.checker.Check(req, civil.Of(a.now(), call.ZoneOf(ctx)).Format(time.DateOnly))
	if err == nil && len(problems) > 0 {
		err = invalidArguments(problems)
	}
	return err
}

// failure returns the job failure for the error of a call; nil if the call is to be tried again.
func (a *approvals) failure(ctx context.Context, run *job.Run, err error) error {
	var failed *job.Failure
	var coded *fault.Error
	var wire *connect.Error
	err = db.Coded(err)
	const nothing = " Nothing was done or charged."
	switch {
	case errors.As(err, &failed):
		return failed
	case errors.Is(err, job.ErrLeaseLost), errors.Is(err, job.ErrCancelled), ctx.Err() != nil:
		return nil
	case errors.As(err, &wire):
		return job.Fail(wireReason(wire), "%s", sentenceOf(wire.Message())+nothing)
	case !errors.As(err, &coded):
		a.logger.ErrorContext(ctx, "an approved call failed", "job", run.Job.ID, "tool", run.Job.Tool, "error", err)
		return job.Fail(job.CodeInternal, "Something went wrong on our side.%s", nothing)
	case coded.Code == fault.Unavailable:
		return nil
	case coded.Code == fault.Exhausted:
		return job.Fail(job.CodeCredits, "%s", sentenceOf(coded.Message)+nothing)
	}
	return job.Fail(wireCode(coded.Code).String(), "%s", sentenceOf(coded.Message)+nothing)
}

// sentenceOf returns a message with a capital at the beginning and a full stop at the end.
func sentenceOf(message string) string {
	if message == "" {
		return "It failed."
	}
	return strings.ToUpper(message[:1]) + strings.TrimSuffix(message[1:], ".") + "."
}

// wireReason is the code of a refused call: the reason of its refusal, or that of the error.
func wireReason(wire *connect.Error) string {
	for _, detail := range wire.Details() {
		if message, err := detail.Value(); err == nil {
			if refusal, ok := message.(*accessv1.Refusal); ok {
				return refusal.GetReason()
			}
		}
	}
	return wire.Code().String()
}
