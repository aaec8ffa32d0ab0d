package rpc

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/call"
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
)

// register lists every RPC with its handler.
func (o Options) register(s *services) {
	searched := &search.RPC{DB: o.Store, Index: o.Indexes, Search: o.Search}
	read(s, connectionsv1connect.ConnectionServiceSearchConnectionsProcedure, searched.SearchConnections)
	o.registerNetwork(s, searched.Selected)
	o.registerDue(s, searched.Selected)
	o.registerJobs(s)
	o.registerMembers(s)
}

// registerNetwork lists the RPCs of people, their timelines, and groups.
func (o Options) registerNetwork(s *services, selected call.Selector) {
	people := &people.RPC{DB: o.Store, Kinds: o.Kinds, Selected: selected}
	write(s, connectionsv1connect.ConnectionServiceArchiveConnectionsProcedure, people.ArchiveConnections)
	write(s, connectionsv1connect.ConnectionServiceCreateConnectionProcedure, people.CreateConnection)
	write(s, connectionsv1connect.ConnectionServiceDeleteConnectionProcedure, people.DeleteConnection)
	read(s, connectionsv1connect.ConnectionServiceFindDuplicatesProcedure, people.FindDuplicates)
	write(s, connectionsv1connect.ConnectionServiceLinkConnectionsProcedure, people.LinkConnections)
	write(s, connectionsv1connect.ConnectionServiceMergeConnectionsProcedure, people.MergeConnections)
	write(s, connectionsv1connect.ConnectionServiceUpdateConnectionProcedure, people.UpdateConnection)

	exports := &export.RPC{DB: o.Store, Selected: selected}
	read(s, connectionsv1connect.ConnectionServiceExportConnectionsProcedure, exports.ExportConnections)

	timeline := &timeline.RPC{DB: o.Store}
	write(s, timelinev1connect.TimelineServiceAddNoteProcedure, timeline.AddNote)
	read(s, timelinev1connect.TimelineServiceListTimelineProcedure, timeline.ListTimeline)
	write(s, timelinev1connect.TimelineServiceDeleteTimelineEntryProcedure, timeline.DeleteTimelineEntry)
	write(s, timelinev1connect.TimelineServiceLogInteractionProcedure, timeline.LogInteraction)
	read(s, timelinev1connect.TimelineServiceSearchNotesProcedure, timeline.SearchNotes)
	write(s, timelinev1connect.TimelineServiceUpdateInteractionProcedure, timeline.UpdateInteraction)
	write(s, timelinev1connect.TimelineServiceUpdateNoteProcedure, timeline.UpdateNote)

	groups := &groups.RPC{DB: o.Store, Selected: selected}
	read(s, organizev1connect.OrganizeServiceListGroupsProcedure, groups.ListGroups)
	write(s, organizev1connect.OrganizeServiceSaveGroupProcedure, groups.SaveGroup)
	write(s, organizev1connect.OrganizeServiceUpdateMembershipProcedure, groups.UpdateMembership)
	write(s, organizev1connect.OrganizeServiceRenameTagProcedure, groups.RenameTag)
}

// registerDue lists the RPCs of reminders, and the RPCs that read several features.
func (o Options) registerDue(s *services, selected call.Selector) {
	reminders := &reminders.RPC{DB: o.Store, Now: o.Now, Selected: selected}
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
}

// registerJobs lists the RPCs of changes and their undo, of imports and of other jobs.
func (o Options) registerJobs(s *services) {
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
}

// registerMembers lists the RPCs of the account, the directory and the sandbox.
func (o Options) registerMembers(s *services) {
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
