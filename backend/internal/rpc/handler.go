package rpc

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"

	"github.com/kith-crm/kith/backend/internal/arguments"
	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/account/v1/accountv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/connections/v1/connectionsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/directory/v1/directoryv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/imports/v1/importsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/insights/v1/insightsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/jobs/v1/jobsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/organize/v1/organizev1connect"
	"github.com/kith-crm/kith/proto/gen/kith/reminders/v1/remindersv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sandbox/v1/sandboxv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sunset/v1/sunsetv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/timeline/v1/timelinev1connect"
)

// maxMessage bounds a request: an inline import of 1 MiB, escaped.
const maxMessage = 4 << 20

// Options are what the handlers need.
type Options struct {
	Catalog *catalog.Catalog
	Store   *store.Store
	Finder  *finder.Finder
	// Recall searches by words and by likeness.
	Recall *recall.Searcher
	// Service is the credential of the edge and of internal callers.
	Service ServiceCredential
	// Used is told of each use of a credential.
	Used func(credentialID string, at time.Time)
	// Jobs has the queue looked at, and tells those who wait for jobs.
	Jobs Jobs
	// BaseURL is the public address of the service; it may be empty.
	BaseURL string
	Now     func() time.Time
	// Metrics observes each call; nil observes none.
	Metrics connect.Interceptor
	// Tracer makes the spans of calls; nil makes none.
	Tracer *tracing.Tracer
	// Keyed is told what became of each call with an Idempotency-Key; it may be nil.
	Keyed  func(outcome string)
	Logger *slog.Logger
}

// NewHandler mounts every service of the contract, health and reflection.
func NewHandler(o Options) (http.Handler, error) {
	errs := &translator{logger: o.Logger}
	execute := &execution{rpcs: o.Catalog, store: o.Store, meter: credit.NewMeter(o.Store), errs: errs, keyed: o.Keyed}
	checker, err := arguments.New()
	if err != nil {
		return nil, err
	}
	lines := &journal{rpcs: o.Catalog, logger: o.Logger, tracer: o.Tracer}
	observers, err := o.observers(lines)
	if err != nil {
		return nil, err
	}
	options := []connect.HandlerOption{
		connect.WithCodec(jsonCodec{defers: true}),
		connect.WithReadMaxBytes(maxMessage),
		connect.WithCompressMinBytes(1024),
		connect.WithInterceptors(observers...),
		connect.WithInterceptors(
			errs.interceptor(),
			checkArguments(checker),
			execute.interceptor(),
		),
	}
	mux := http.NewServeMux()
	var services []string
	mount := func(path string, handler http.Handler) {
		mux.Handle(path, handler)
		services = append(services, path[1:len(path)-1])
	}
	own := &accounts{rpcs: o.Catalog, store: o.Store, provider: o.Recall.Provider(), jobs: o.Jobs}
	mount(connectionsv1connect.NewConnectionServiceHandler(&connections{store: o.Store, finder: o.Finder, recall: o.Recall}, options...))
	mount(timelinev1connect.NewTimelineServiceHandler(&timelines{store: o.Store}, options...))
	mount(accountv1connect.NewAccountServiceHandler(own, options...))
	mount(organizev1connect.NewOrganizeServiceHandler(&groupTools{store: o.Store}, options...))
	mount(remindersv1connect.NewReminderServiceHandler(&reminders{store: o.Store, now: o.Now}, options...))
	mount(insightsv1connect.NewInsightServiceHandler(&insights{store: o.Store, finder: o.Finder, recall: o.Recall, now: o.Now}, options...))
	mount(directoryv1connect.NewDirectoryServiceHandler(&directoryTools{store: o.Store}, options...))
	mount(importsv1connect.NewImportServiceHandler(&importService{importTools{jobs: o.Jobs}, embedTools{jobs: o.Jobs, provider: o.Recall.Provider()}}, options...))
	mount(jobsv1connect.NewJobServiceHandler(&jobTools{store: o.Store, jobs: o.Jobs, baseURL: o.BaseURL, now: o.Now}, options...))
	mount(accessv1connect.NewAccessServiceHandler(own, options...))
	mount(directoryv1connect.NewPublicDirectoryServiceHandler(&directory{profiles: o.Store}, options...))
	mount(sandboxv1connect.NewSandboxServiceHandler(&sandboxes{store: o.Store}, options...))
	mount(sunsetv1connect.NewSunsetServiceHandler(&sunsets{store: o.Store}, options...))
	reflector := grpcreflect.NewStaticReflector(append(services, grpchealth.HealthV1ServiceName)...)
	mux.Handle(grpcreflect.NewHandlerV1(reflector))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector))

	gate := &Gate{
		rpcs: o.Catalog, bearers: o.Store, service: o.Service,
		used: o.Used, now: o.Now, errors: errs,
	}
	outer := http.NewServeMux()
	outer.Handle("/", lines.wrap(gate.wrap(mux, options...)))
	outer.Handle(grpchealth.NewHandler(health{store: o.Store, services: services}, connect.WithCodec(jsonCodec{})))
	return outer, nil
}

// observers are the interceptors that see every call that is read, and its end.
func (o Options) observers(lines *journal) ([]connect.Interceptor, error) {
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

// health answers grpc.health.v1: a service is up when its store is.
type health struct {
	store    *store.Store
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
