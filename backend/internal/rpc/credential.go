package rpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/authn"
	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
)

// Reasons of a refusal, in kith.access.v1.Refusal.
const (
	reasonMissingScope = "missing_scope"
	reasonReadOnly     = "read_only_account"
	reasonToolLimit    = "limited_to_tools"
	reasonPaused       = "agent_paused"
)

// Authorizer decides who may call which RPC, before the request is read.
type Authorizer struct {
	rpcs    *catalog.Catalog
	bearers *db.DB
	service ServiceCredential
	used    func(credentialID string, at time.Time)
	now     func() time.Time
	errors  *translator
	// refuse returns the error to send for a refusal, and stores it if the call has a key.
	refuse func(ctx context.Context, h http.Header, rule *catalog.RPC, p *tenant.Principal, refused *connect.Error) error
}

// authenticate implements authn.AuthFunc.
func (a *Authorizer) authenticate(ctx context.Context, r *http.Request) (info any, err error) {
	defer func() {
		if err != nil {
			lineOf(ctx).end(err)
		}
	}()
	if !a.service.Trusted(r) {
		// The member's credential is not at fault, so the error must not say so: an agent
		// would drop the credential.
		return nil, connect.NewError(connect.CodeUnavailable, errors.New(missingService))
	}
	procedure, _ := authn.InferProcedure(r.URL)
	rule, known := a.rpcs.Procedure(procedure)
	if !known || rule.Access == catalog.AccessAnonymous {
		return nil, nil // an unknown procedure has no handler
	}
	p, err := a.principal(ctx, r)
	if err != nil {
		return nil, a.errors.translate(ctx, err)
	}
	lineOf(ctx).principal = p
	if refused := permit(rule, p); refused != nil {
		refused.Meta().Set(connectheader.CredentialID, p.Credential.ID)
		return nil, a.refuse(WithRequestID(ctx, r.Header), r.Header, rule, p, refused)
	}
	return p, nil
}

func (a *Authorizer) principal(ctx context.Context, r *http.Request) (*tenant.Principal, error) {
	bearer, ok := authn.BearerToken(r)
	if !ok || bearer == "" || len(r.Header.Values("Authorization")) != 1 {
		return nil, fault.New(fault.Unauthenticated, "send a bearer token in the Authorization header")
	}
	p, err := oauth.Authenticate(ctx, a.bearers, bearer)
	if err != nil {
		return nil, err
	}
	// The demo account's token is public: outside the sandbox, everyone could use it to call
	// what is for members only. The sandbox must never show a member's data.
	if fromSandbox := r.Header.Get(connectheader.SandboxVisitor) != ""; p.Credential.ID == demo.TokenID && !fromSandbox || fromSandbox && !p.ReadOnly {
		return nil, fault.New(fault.Unauthenticated, "the sandbox's token works on the sandbox's paths, and no other token does there")
	}
	a.used(p.Credential.ID, a.now())
	return p, nil
}

// permit checks that the RPC's rule lets the principal call it.
func permit(rule *catalog.RPC, p *tenant.Principal) *connect.Error {
	if p.Credential.Paused && rule.Tool != nil {
		return refusal("the member has paused this agent, and nothing was done; ask them to resume it, on the settings page for agents",
			&accessv1.Refusal{Reason: reasonPaused})
	}
	if rule.Writes && p.ReadOnly {
		return refusal("this account is read-only: nothing can be written here", &accessv1.Refusal{Reason: reasonReadOnly, RequiredScopes: rule.Scopes})
	}
	if !rule.WithinLimit(p.Credential.Tools) {
		return refusal("the token is limited to other tools: "+strings.Join(p.Credential.Tools, ", "),
			&accessv1.Refusal{Reason: reasonToolLimit, AllowedTools: p.Credential.Tools})
	}
	if len(rule.Missing(p.Credential.Scopes)) > 0 {
		return refusal("the credential lacks a scope that this call needs", &accessv1.Refusal{Reason: reasonMissingScope, RequiredScopes: rule.Scopes})
	}
	return nil
}

func refusal(message string, why *accessv1.Refusal) *connect.Error {
	err := connect.NewError(connect.CodePermissionDenied, errors.New(message))
	if detail, detailErr := connect.NewErrorDetail(why); detailErr == nil {
		err.AddDetail(detail)
	}
	return err
}

// wrap guards a handler. It puts the authenticated principal into the handler's context,
// and the id of its credential and its placement into response headers.
func (a *Authorizer) wrap(next http.Handler, options ...connect.HandlerOption) http.Handler {
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := authn.GetInfo(r.Context()).(*tenant.Principal); ok {
			w.Header().Set(connectheader.CredentialID, p.Credential.ID)
			w.Header().Set(connectheader.Placement, p.Tenant.Placement())
			r = r.WithContext(tenant.WithPrincipal(r.Context(), p))
		}
		next.ServeHTTP(w, r)
	})
	return authn.NewMiddleware(a.authenticate, options...).Wrap(inner)
}

// ServiceCredential recognises the edge and internal callers.
type ServiceCredential struct{ sums [][sha256.Size]byte }

// NewServiceCredential returns the check for service tokens: the present one, and the previous one while it is
// replaced. Empty tokens are none. Without a token, only client certificates are accepted.
func NewServiceCredential(tokens ...string) (c ServiceCredential) {
	for _, token := range tokens {
		if token != "" {
			c.sums = append(c.sums, sha256.Sum256([]byte(token)))
		}
	}
	return c
}

// Trusted reports whether the request carries the service credential or a verified
// client certificate.
func (c ServiceCredential) Trusted(r *http.Request) bool {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	given := sha256.Sum256([]byte(r.Header.Get(connectheader.ServiceToken)))
	known := 0
	for _, sum := range c.sums {
		known |= subtle.ConstantTimeCompare(given[:], sum[:])
	}
	return known == 1
}

// Guard protects handlers that are not RPCs: it lets only trusted callers through.
func (c ServiceCredential) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Trusted(r) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, missingService, http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const missingService = "the service credential is missing or wrong: send it as " + connectheader.ServiceToken

// The kinds of principals.
const (
	principalAnonymous  = "anonymous"
	principalDemo       = "demo"
	principalCredential = "credential"
)

// outcomeUnread is the outcome of a call that no handler of the contract could read:
// its body is not a message, its protocol is unknown, or it asks for reflection.
const outcomeUnread = "unread"

// methodUnknown is the name for calls that are not RPCs of the contract.
const methodUnknown = "unknown"

// accessLog writes one log line for each call, no matter which handler answers it. The
// line never contains the contents of messages.
type accessLog struct {
	rpcs   *catalog.Catalog
	logger *slog.Logger
	tracer *tracing.Tracer // nil traces nothing
}

// line is the content of a call's log line, filled while the call is handled.
type line struct {
	principal *tenant.Principal
	outcome   string
}

type lineKey struct{}

type inProcessKey struct{}

// InProcess marks calls as coming from an edge in the same process. The edge's log line
// for the request has the same attributes and the error, so the line of the call has level debug.
func InProcess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), inProcessKey{}, true)))
	})
}

// lineOf returns the line of the call that ctx belongs to. Without one, as in unit tests,
// it returns a line that is not logged.
func lineOf(ctx context.Context) *line {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		return l
	}
	return &line{}
}

// end records how the call ended.
func (l *line) end(err error) {
	l.outcome = "ok"
	if err != nil {
		l.outcome = connect.CodeOf(err).String()
	}
}

// wrap adopts the request id and the trace of the caller, and writes the log line. Only
// callers that the Authorizer trusts reach the handlers after it.
func (j *accessLog) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		l := &line{outcome: outcomeUnread}
		ctx := WithRequestID(context.WithValue(r.Context(), lineKey{}, l), r.Header)
		if j.tracer != nil {
			ctx = j.tracer.Continue(ctx, r.Header)
		}
		ctx, failure, outer := logging.WithFailure(ctx)
		if outer { // the line of the edge's request says why
			failure = nil
		}
		defer func() { j.write(ctx, r.URL.Path, l, failure, time.Since(start)) }()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// interceptor records how calls end. It must come before the interceptors that decide it.
func (j *accessLog) interceptor() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			lineOf(ctx).end(err)
			return res, err
		}
	}
}

func (j *accessLog) write(ctx context.Context, path string, l *line, failure *logging.Failure, d time.Duration) {
	level, cause := levelOf(l.outcome), []slog.Attr(nil)
	if failure != nil {
		level, cause = failure.Line(level)
	}
	if failure == nil || level == slog.LevelInfo && ctx.Value(inProcessKey{}) != nil {
		level = slog.LevelDebug
	}
	if !j.logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, "call", 0)
	rule, known := j.rpcs.Procedure(path)
	method := methodUnknown
	if known {
		method = strings.TrimPrefix(rule.Procedure, "/")
	}
	if id := logging.RequestID(ctx); id != "" { // probes of the edge have none
		record.AddAttrs(slog.String("request_id", id))
	}
	record.AddAttrs(slog.String("method", method),
		slog.String("outcome", l.outcome), logging.Milliseconds("duration_ms", d))
	if known && rule.Tool != nil {
		record.AddAttrs(slog.String("tool", rule.Tool.Name))
	}
	switch p := l.principal; {
	case p == nil:
		record.AddAttrs(slog.String("principal", principalAnonymous))
	case p.ReadOnly:
		record.AddAttrs(slog.String("principal", principalDemo))
	default:
		record.AddAttrs(slog.String("principal", principalCredential), slog.String("credential", p.Credential.ID))
	}
	if j.tracer != nil {
		if id := tracing.TraceID(ctx); id != "" {
			record.AddAttrs(slog.String("trace_id", id))
		}
	}
	record.AddAttrs(cause...)
	_ = j.logger.Handler().Handle(ctx, record) // an error here can't be reported anywhere
}

// levelOf returns the log level of a call by its outcome: error for internal errors.
func levelOf(outcome string) slog.Level {
	switch outcome {
	case connect.CodeInternal.String(), connect.CodeUnknown.String(), connect.CodeUnavailable.String(), connect.CodeDataLoss.String():
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}
