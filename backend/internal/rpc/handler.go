package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
	"github.com/kith-crm/kith/backend/internal/sunset"
	"github.com/kith-crm/kith/backend/internal/tenant"
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
	"github.com/kith-crm/kith/proto/gen/kith/research/v1/researchv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sandbox/v1/sandboxv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sunset/v1/sunsetv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/timeline/v1/timelinev1connect"
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
	execute.writers = served.writers
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

// register lists every RPC with its handler.
func (o Options) register(s *services) {
	h := o.Handlers
	registerPeople(s, h)
	registerTimeline(s, h)
	registerInsights(s, h)
	registerJobs(s, h)
	o.registerMembers(s, h)
}

// registerPeople lists the RPCs of people and groups.
func registerPeople(s *services, h *handlers.Handlers) {
	read(s, connectionsv1connect.ConnectionServiceSearchConnectionsProcedure, h.Search.SearchConnections)
	write(s, connectionsv1connect.ConnectionServiceArchiveConnectionsProcedure, h.People.ArchiveConnections)
	write(s, connectionsv1connect.ConnectionServiceCreateConnectionProcedure, h.People.CreateConnection)
	write(s, connectionsv1connect.ConnectionServiceDeleteConnectionProcedure, h.People.DeleteConnection)
	read(s, connectionsv1connect.ConnectionServiceFindDuplicatesProcedure, h.People.FindDuplicates)
	write(s, connectionsv1connect.ConnectionServiceLinkConnectionsProcedure, h.People.LinkConnections)
	write(s, connectionsv1connect.ConnectionServiceDefineFieldProcedure, h.People.DefineField)
	write(s, connectionsv1connect.ConnectionServiceMergeConnectionsProcedure, h.People.MergeConnections)
	write(s, connectionsv1connect.ConnectionServiceUpdateConnectionProcedure, h.People.UpdateConnection)
	write(s, connectionsv1connect.ConnectionServiceUpdateOrganizationProcedure, h.People.UpdateOrganization)
	read(s, connectionsv1connect.ConnectionServiceExportConnectionsProcedure, h.Exports.ExportConnections)

	read(s, organizev1connect.OrganizeServiceListGroupsProcedure, h.Groups.ListGroups)
	write(s, organizev1connect.OrganizeServiceSaveGroupProcedure, h.Groups.SaveGroup)
	write(s, organizev1connect.OrganizeServiceDeleteGroupProcedure, h.Groups.DeleteGroup)
	write(s, organizev1connect.OrganizeServiceUpdateMembershipProcedure, h.Groups.UpdateMembership)
	write(s, organizev1connect.OrganizeServiceRenameTagProcedure, h.Groups.RenameTag)
}

// registerTimeline lists the RPCs of timelines and reminders.
func registerTimeline(s *services, h *handlers.Handlers) {
	write(s, timelinev1connect.TimelineServiceAddNoteProcedure, h.Timeline.AddNote)
	read(s, timelinev1connect.TimelineServiceListTimelineProcedure, h.Timeline.ListTimeline)
	write(s, timelinev1connect.TimelineServiceDeleteTimelineEntryProcedure, h.Timeline.DeleteTimelineEntry)
	write(s, timelinev1connect.TimelineServiceLogInteractionProcedure, h.Timeline.LogInteraction)
	write(s, timelinev1connect.TimelineServiceLogInteractionsProcedure, h.Timeline.LogInteractions)
	read(s, timelinev1connect.TimelineServiceCountInteractionsProcedure, h.Timeline.CountInteractions)
	read(s, timelinev1connect.TimelineServiceSearchNotesProcedure, h.Timeline.SearchNotes)
	write(s, timelinev1connect.TimelineServiceUpdateInteractionProcedure, h.Timeline.UpdateInteraction)
	write(s, timelinev1connect.TimelineServiceUpdateNoteProcedure, h.Timeline.UpdateNote)

	write(s, remindersv1connect.ReminderServiceCompleteReminderProcedure, h.Reminders.CompleteReminder)
	write(s, remindersv1connect.ReminderServiceCreateReminderProcedure, h.Reminders.CreateReminder)
	read(s, remindersv1connect.ReminderServiceListDueProcedure, h.Reminders.ListDue)
	write(s, remindersv1connect.ReminderServiceSetCadenceProcedure, h.Reminders.SetCadence)
	write(s, remindersv1connect.ReminderServiceUpdateReminderProcedure, h.Reminders.UpdateReminder)
}

// registerInsights lists the RPCs that read several features.
func registerInsights(s *services, h *handlers.Handlers) {
	read(s, insightsv1connect.InsightServiceFindPeopleAtProcedure, h.Insights.FindPeopleAt)
	read(s, insightsv1connect.InsightServiceFindSimilarConnectionsProcedure, h.Insights.FindSimilarConnections)
	read(s, connectionsv1connect.ConnectionServiceGetConnectionProcedure, h.Insights.GetConnection)
	read(s, connectionsv1connect.ConnectionServiceResolvePeopleProcedure, h.Insights.ResolvePeople)
	read(s, insightsv1connect.InsightServiceGetNetworkStatsProcedure, h.Insights.GetNetworkStats)
	read(s, insightsv1connect.InsightServicePrepareMeetingProcedure, h.Insights.PrepareMeeting)
	read(s, insightsv1connect.InsightServiceSuggestIntroductionsProcedure, h.Insights.SuggestIntroductions)

	read(s, researchv1connect.ResearchServiceSearchProcedure, h.Research.Search)
	read(s, researchv1connect.ResearchServiceFetchProcedure, h.Research.Fetch)
}

// registerJobs lists the RPCs of changes and their undo, of imports and of other jobs.
func registerJobs(s *services, h *handlers.Handlers) {
	read(s, accountv1connect.AccountServiceListChangesProcedure, h.Changes.ListChanges)
	write(s, importsv1connect.ImportServiceImportFileProcedure, h.Imports.ImportFile)
	after(s, importsv1connect.ImportServiceImportFileProcedure, h.Imports.Await)
	write(s, accountv1connect.AccountServiceUndoChangeProcedure, h.Imports.UndoChange)
	write(s, importsv1connect.ImportServiceEmbedObjectsProcedure, h.Embeddings.EmbedObjects)
	write(s, jobsv1connect.JobServiceCancelJobProcedure, h.Jobs.CancelJob)
	read(s, jobsv1connect.JobServiceGetJobProcedure, h.Jobs.GetJob)
}

// registerMembers lists the RPCs of the account, the directory and the sandbox.
func (o Options) registerMembers(s *services, h *handlers.Handlers) {
	self := &accounts{db: o.Store, rpcs: o.Catalog, ledger: o.Ledger, provider: h.Embeddings.Provider, now: o.Now}
	read(s, accountv1connect.AccountServiceGetAccountProcedure, self.GetAccount)
	read(s, accessv1connect.AccessServiceGetPrincipalProcedure, self.GetPrincipal)
	read(s, accessv1connect.AccessServiceRefuseCallProcedure, self.RefuseCall)

	write(s, accountv1connect.AccountServiceUpdateMySettingsProcedure, h.Account.UpdateMySettings)
	read(s, directoryv1connect.DirectoryServiceGetMemberProfileProcedure, h.Account.GetMemberProfile)
	read(s, directoryv1connect.DirectoryServiceSearchDirectoryProcedure, h.Account.SearchDirectory)
	write(s, directoryv1connect.DirectoryServiceUpdateMyProfileProcedure, h.Account.UpdateMyProfile)

	directory := &account.PublicRPC{DB: o.Store}
	read(s, directoryv1connect.PublicDirectoryServiceBatchGetProfilesProcedure, directory.BatchGetProfiles)
	read(s, directoryv1connect.PublicDirectoryServiceListMembersProcedure, directory.ListMembers)

	sandbox := &demo.RPC{DB: o.Store}
	read(s, sandboxv1connect.SandboxServiceGetSandboxProcedure, sandbox.GetSandbox)

	sunsets := &sunset.RPC{DB: o.Store}
	read(s, sunsetv1connect.SunsetServiceAnnounceSunsetProcedure, sunsets.AnnounceSunset)
}

// services are the RPCs that are served.
type services struct {
	mux        *http.ServeMux
	options    []connect.HandlerOption
	procedures []string
	// writers are the handlers that run in a transaction, by procedure.
	writers map[string]writer
}

// names returns the services' names, sorted.
func (s *services) names() []string {
	names := map[string]struct{}{}
	for _, procedure := range s.procedures {
		service, _, _ := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
		names[service] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}
