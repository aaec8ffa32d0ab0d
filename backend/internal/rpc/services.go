package rpc

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/sunset"
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
	write(s, connectionsv1connect.ConnectionServiceMergeConnectionsProcedure, h.People.MergeConnections)
	write(s, connectionsv1connect.ConnectionServiceUpdateConnectionProcedure, h.People.UpdateConnection)
	read(s, connectionsv1connect.ConnectionServiceExportConnectionsProcedure, h.Exports.ExportConnections)

	read(s, organizev1connect.OrganizeServiceListGroupsProcedure, h.Groups.ListGroups)
	write(s, organizev1connect.OrganizeServiceSaveGroupProcedure, h.Groups.SaveGroup)
	write(s, organizev1connect.OrganizeServiceUpdateMembershipProcedure, h.Groups.UpdateMembership)
	write(s, organizev1connect.OrganizeServiceRenameTagProcedure, h.Groups.RenameTag)
}

// registerTimeline lists the RPCs of timelines and reminders.
func registerTimeline(s *services, h *handlers.Handlers) {
	write(s, timelinev1connect.TimelineServiceAddNoteProcedure, h.Timeline.AddNote)
	read(s, timelinev1connect.TimelineServiceListTimelineProcedure, h.Timeline.ListTimeline)
	write(s, timelinev1connect.TimelineServiceDeleteTimelineEntryProcedure, h.Timeline.DeleteTimelineEntry)
	write(s, timelinev1connect.TimelineServiceLogInteractionProcedure, h.Timeline.LogInteraction)
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
}

// registerJobs lists the RPCs of changes and their undo, of imports and of other jobs.
func registerJobs(s *services, h *handlers.Handlers) {
	read(s, accountv1connect.AccountServiceListChangesProcedure, h.Changes.ListChanges)
	write(s, importsv1connect.ImportServiceImportFileProcedure, h.Imports.ImportFile)
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
