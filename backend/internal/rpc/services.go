package rpc

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/sunset"
	"github.com/kith-crm/kith/backend/internal/timeline"
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
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// register lists every RPC with its handler.
func (o Options) register(s *services) {
	people := &people.RPC{DB: o.Store, Kinds: o.Kinds}
	write(s, connectionsv1connect.ConnectionServiceArchiveConnectionsProcedure, people.ArchiveConnections)
	write(s, connectionsv1connect.ConnectionServiceCreateConnectionProcedure, people.CreateConnection)
	write(s, connectionsv1connect.ConnectionServiceDeleteConnectionProcedure, people.DeleteConnection)
	read(s, connectionsv1connect.ConnectionServiceFindDuplicatesProcedure, people.FindDuplicates)
	write(s, connectionsv1connect.ConnectionServiceLinkConnectionsProcedure, people.LinkConnections)
	write(s, connectionsv1connect.ConnectionServiceMergeConnectionsProcedure, people.MergeConnections)
	write(s, connectionsv1connect.ConnectionServiceUpdateConnectionProcedure, people.UpdateConnection)

	searched := &search.RPC{DB: o.Store, Index: o.Indexes, Search: o.Search}
	read(s, connectionsv1connect.ConnectionServiceSearchConnectionsProcedure, searched.SearchConnections)

	exports := &export.RPC{DB: o.Store, Index: o.Indexes}
	read(s, connectionsv1connect.ConnectionServiceExportConnectionsProcedure, exports.ExportConnections)

	timeline := &timeline.RPC{DB: o.Store}
	write(s, timelinev1connect.TimelineServiceAddNoteProcedure, timeline.AddNote)
	read(s, timelinev1connect.TimelineServiceListTimelineProcedure, timeline.ListTimeline)
	write(s, timelinev1connect.TimelineServiceDeleteTimelineEntryProcedure, timeline.DeleteTimelineEntry)
	write(s, timelinev1connect.TimelineServiceLogInteractionProcedure, timeline.LogInteraction)
	read(s, timelinev1connect.TimelineServiceSearchNotesProcedure, timeline.SearchNotes)
	write(s, timelinev1connect.TimelineServiceUpdateInteractionProcedure, timeline.UpdateInteraction)
	write(s, timelinev1connect.TimelineServiceUpdateNoteProcedure, timeline.UpdateNote)

	groups := &groups.RPC{DB: o.Store}
	read(s, organizev1connect.OrganizeServiceListGroupsProcedure, groups.ListGroups)
	write(s, organizev1connect.OrganizeServiceSaveGroupProcedure, groups.SaveGroup)
	write(s, organizev1connect.OrganizeServiceUpdateMembershipProcedure, groups.UpdateMembership)

	reminders := &reminders.RPC{DB: o.Store, Now: o.Now}
	write(s, remindersv1connect.ReminderServiceCompleteReminderProcedure, reminders.CompleteReminder)
	write(s, remindersv1connect.ReminderServiceCreateReminderProcedure, reminders.CreateReminder)
	read(s, remindersv1connect.ReminderServiceListDueProcedure, reminders.ListDue)
	write(s, remindersv1connect.ReminderServiceSetCadenceProcedure, reminders.SetCadence)
	write(s, remindersv1connect.ReminderServiceUpdateReminderProcedure, reminders.UpdateReminder)

	insights := &insights.RPC{DB: o.Store, Index: o.Indexes, Search: o.Search, Now: o.Now}
	read(s, insightsv1connect.InsightServiceFindPeopleAtProcedure, insights.FindPeopleAt)
	read(s, insightsv1connect.InsightServiceFindSimilarConnectionsProcedure, insights.FindSimilarConnections)
	read(s, connectionsv1connect.ConnectionServiceGetConnectionProcedure, insights.GetConnection)
	read(s, connectionsv1connect.ConnectionServiceResolvePeopleProcedure, insights.ResolvePeople)
	read(s, insightsv1connect.InsightServiceGetNetworkStatsProcedure, insights.GetNetworkStats)
	read(s, insightsv1connect.InsightServicePrepareMeetingProcedure, insights.PrepareMeeting)
	read(s, insightsv1connect.InsightServiceSuggestIntroductionsProcedure, insights.SuggestIntroductions)

	changes := &history.RPC{DB: o.Store}
	read(s, accountv1connect.AccountServiceListChangesProcedure, changes.ListChanges)

	imports := &importer.RPC{Jobs: o.Jobs, Kinds: o.Kinds}
	write(s, importsv1connect.ImportServiceImportFileProcedure, imports.ImportFile)
	write(s, accountv1connect.AccountServiceUndoChangeProcedure, imports.UndoChange)

	embeddings := &search.EmbedRPC{Jobs: o.Jobs, Provider: o.Search.Provider()}
	write(s, importsv1connect.ImportServiceEmbedObjectsProcedure, embeddings.EmbedObjects)

	jobs := &job.RPC{DB: o.Store, Jobs: o.Jobs, BaseURL: o.BaseURL, Now: o.Now}
	write(s, jobsv1connect.JobServiceCancelJobProcedure, jobs.CancelJob)
	read(s, jobsv1connect.JobServiceGetJobProcedure, jobs.GetJob)

	self := &accounts{rpcs: o.Catalog, ledger: o.Ledger, provider: o.Search.Provider(), now: o.Now}
	read(s, accountv1connect.AccountServiceGetAccountProcedure, self.GetAccount)
	read(s, accessv1connect.AccessServiceGetPrincipalProcedure, self.GetPrincipal)

	profiles := &account.RPC{DB: o.Store}
	read(s, directoryv1connect.DirectoryServiceGetMemberProfileProcedure, profiles.GetMemberProfile)
	read(s, directoryv1connect.DirectoryServiceSearchDirectoryProcedure, profiles.SearchDirectory)
	write(s, directoryv1connect.DirectoryServiceUpdateMyProfileProcedure, profiles.UpdateMyProfile)

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
	read(s, procedure, func(ctx context.Context, req *Req) (*Res, error) {
		tx, ok := ctx.Value(txKey{}).(*db.Tx)
		if !ok {
			return nil, errors.New("no transaction: the contract declares this RPC as reading")
		}
		return fn(ctx, tx, req)
	})
}

// txKey is where the pipeline keeps the transaction of a call, for write alone.
type txKey struct{}

// methodOf returns a procedure's description in the contract, which has all of them.
func methodOf(procedure string) protoreflect.MethodDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", "."))
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(name)
	return found.(protoreflect.MethodDescriptor) //nolint:forcetypeassert // its generated name says so
}
