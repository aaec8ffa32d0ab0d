package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/catalog"
)

// maxMessage bounds a request: an inline import of 1 MiB, escaped.
const maxMessage = 4 << 20

// Options are what the handlers need.
type Options struct {
	Catalog *catalog.Catalog
	Store   *db.DB
	Ledger  *billing.Ledger
	Keys    *idempotency.Keys
	// Handlers are those of the features.
	Handlers *handlers.Handlers
	// Service is the credential of the edge and of internal callers.
	Service ServiceCredential
	// Used is called at each use of a credential.
	Used func(credentialID string, at time.Time)
	Now  func() time.Time
	// Metrics observes each call; nil observes none.
	Metrics connect.Interceptor
	// Tracer creates the spans of calls; nil creates none.
	Tracer *tracing.Tracer
	// KeyOutcome is called with the outcome of each call with an Idempotency-Key; it may
	// be nil.
	KeyOutcome func(outcome string)
	// Asked is called with the title of the tool when a call needs the member's approval, and no
	// other decision waits for them. It may be nil.
	Asked func(p *tenant.Principal, tool string)
	// WriteTimeout bounds a write; 30 s if it is 0. Tests with the race detector need longer.
	WriteTimeout time.Duration
	Logger       *slog.Logger
}

// NewHandler mounts every service of the contract, health and reflection.
func NewHandler(o Options) (http.Handler, error) {
	errs := &translator{logger: o.Logger}
	codec := jsonCodec{defers: true, answers: answersOf(o.Catalog)}
	checker, err := arguments.New()
	if err != nil {
		return nil, err
	}
	execute := &transactions{
		codec: codec, rpcs: o.Catalog, store: o.Store, ledger: o.Ledger, keys: o.Keys, errs: errs,
		keyOutcome: o.KeyOutcome, check: checkArguments(checker, o.Now), onAsked: o.Asked, timeout: cmp.Or(o.WriteTimeout, usualWriteTimeout),
		baseURL: o.Handlers.Jobs.BaseURL,
	}
	lines := &accessLog{rpcs: o.Catalog, logger: o.Logger, tracer: o.Tracer}
	observers, err := o.observers(lines)
	if err != nil {
		return nil, err
	}
	options := []connect.HandlerOption{
		connect.WithCodec(codec),
		connect.WithReadMaxBytes(maxMessage),
		connect.WithCompressMinBytes(1024),
		connect.WithInterceptors(observers...),
		connect.WithInterceptors(
			errs.interceptor(),
			execute.interceptor(),
		),
	}
	mux := http.NewServeMux()
	served := &services{mux: mux, options: options, writers: map[string]writer{}}
	o.register(served)
	names := served.names()
	reflector := grpcreflect.NewStaticReflector(append(names, grpchealth.HealthV1ServiceName)...)
	mux.Handle(grpcreflect.NewHandlerV1(reflector))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector))

	authorizer := &Authorizer{
		rpcs: o.Catalog, bearers: o.Store, service: o.Service,
		used: o.Used, now: o.Now, errors: errs, refuse: execute.refuse,
	}
	outer := http.NewServeMux()
	outer.Handle("/", lines.wrap(authorizer.wrap(mux, options...)))
	outer.Handle(grpchealth.NewHandler(health{store: o.Store, services: names}, connect.WithCodec(jsonCodec{})))
	return outer, nil
}

// observers returns the interceptors that see every call after decoding, and how it ends.
func (o Options) observers(lines *accessLog) ([]connect.Interceptor, error) {
	list := []connect.Interceptor{lines.interceptor()}
	if o.Metrics != nil {
		list = append(list, o.Metrics)
	}
	if o.Tracer == nil {
		return list, nil
	}
	traced, err := o.Tracer.Interceptor()
	return append(list, traced), err
}

// health implements grpc.health.v1: a service is up when its store is.
type health struct {
	store    *db.DB
	services []string
}

func (h health) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	known := req.Service == ""
	for _, s := range h.services {
		known = known || s == req.Service
	}
	if !known {
		return nil, connect.NewError(connect.CodeNotFound, nil)
	}
	if err := h.store.Ping(ctx); err != nil {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
}
