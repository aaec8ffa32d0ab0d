package people

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ArchiveConnections implements the RPC.
func (h *RPC) ArchiveConnections(ctx context.Context, u *db.Tx, req *connectionsv1.ArchiveConnectionsRequest) (*connectionsv1.ArchiveConnectionsResponse, error) {
	ids, err := call.People(ctx, req.GetIds(), req.Selection, h.Selected)
	if err != nil {
		return nil, err
	}
	done, err := Archive(ctx, u, ids, req.Archived == nil || req.GetArchived(), req.GetDryRun())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.ArchiveConnectionsResponse{
		Changed: int32(len(done.Changed)), Unchanged: int32(done.Unchanged), ChangeId: call.Optional(done.ChangeID), Names: done.Names(),
	}, nil
}

// DeleteConnection implements the RPC.
func (h *RPC) DeleteConnection(ctx context.Context, u *db.Tx, req *connectionsv1.DeleteConnectionRequest) (*connectionsv1.DeleteConnectionResponse, error) {
	done, err := Delete(ctx, u, h.Kinds, req.GetId(), req.GetConfirmName())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.DeleteConnectionResponse{
		Deleted: done.Deleted, NotesDeleted: int32(done.Notes), InteractionsDeleted: int32(done.Interactions), ChangeId: call.Optional(done.ChangeID),
		RestorableUntil: call.Timestamp(done.FinalAt),
	}, nil
}

// The bounds on what the answer to a merge shows. Values are shorter for several merges, so
// that the answer stays below 32 KB.
const (
	maxMergeConflicts   = 100
	maxConflictValue    = 1999
	maxPairConflicts    = 50
	maxPairConflictText = 80
)

// nothingMerged ends the answer to a dry run.
const nothingMerged = "Nothing was written. To merge, call again with the same arguments and dry_run: false."

// MergeConnections implements the RPC.
func (h *RPC) MergeConnections(ctx context.Context, u *db.Tx, req *connectionsv1.MergeConnectionsRequest) (*connectionsv1.MergeConnectionsResponse, error) {
	merges, err := h.merges(ctx, req)
	if err != nil {
		return nil, err
	}
	dryRun := req.DryRun == nil || req.GetDryRun()
	res := &connectionsv1.MergeConnectionsResponse{Merged: !dryRun}
	done, err := Merge(ctx, u, merges, dryRun, h.StoreNote, func(ctx context.Context, merged []MergedPerson) error {
		if len(req.GetPairs()) > 0 {
			addMerged(res, merged)
			return nil
		}
		res.Conflicts = conflictMessages(merged[0], maxMergeConflicts, maxConflictValue)
		var err error
		res.Connection, err = WholeConnection(ctx, u, merged[0].Connection)
		return err
	})
	if err != nil {
		return nil, err
	}
	if dryRun {
		res.Note = call.Optional(nothingMerged)
	}
	res.Moved, res.ChangeId = int32(done.Moved), call.Optional(done.ChangeID)
	return res, nil
}

// addMerged adds the people of several merges to the answer.
func addMerged(res *connectionsv1.MergeConnectionsResponse, merged []MergedPerson) {
	for _, p := range merged {
		res.People = append(res.People, &connectionsv1.MergedPerson{Id: p.Connection.ID, Name: p.Connection.Name, From: p.From})
		for _, c := range conflictMessages(p, maxPairConflicts-len(res.GetConflicts()), maxPairConflictText) {
			c.ConnectionId = p.Connection.ID
			res.Conflicts = append(res.Conflicts, c)
		}
	}
}

func conflictMessages(p MergedPerson, most, characters int) []*connectionsv1.MergeConflict {
	var out []*connectionsv1.MergeConflict
	for _, c := range p.Conflicts[:min(len(p.Conflicts), most)] {
		out = append(out, &connectionsv1.MergeConflict{
			Field: c.Field, Kept: text.Truncate(c.Kept, characters), Dropped: text.Truncate(c.Dropped, characters),
		})
	}
	return out
}

// merges returns who is to be merged into whom.
func (h *RPC) merges(ctx context.Context, req *connectionsv1.MergeConnectionsRequest) ([]MergeInto, error) {
	if len(req.GetPairs()) > 0 {
		pairs := make([]MergePair, len(req.GetPairs()))
		for i, p := range req.GetPairs() {
			pairs[i] = MergePair{Keep: p.GetKeepId(), Merge: p.GetMergeId()}
		}
		merges, err := MergesOf(pairs)
		for i := range merges {
			merges[i].Take = req.GetTake()
		}
		return merges, err
	}
	from, err := h.mergedInto(ctx, req)
	if slices.Contains(from, req.GetIntoId()) {
		return nil, fault.InvalidField("from_ids", "holds into_id: a person cannot be merged into themselves")
	}
	return []MergeInto{{Into: req.GetIntoId(), From: from, MergeChoices: MergeChoices{Take: req.GetTake()}}}, err
}

// maxMerged is the most people that a selection to be merged may contain.
const maxMerged = 20

// mergedInto returns the people to be merged into another person.
func (h *RPC) mergedInto(ctx context.Context, req *connectionsv1.MergeConnectionsRequest) ([]string, error) {
	from, err := call.People(ctx, req.GetFromIds(), req.Selection, h.Selected)
	if err != nil || req.Selection == nil {
		return from, err
	}
	if len(from) > maxMerged {
		return nil, fault.InvalidField("selection", "stands for %d people; at most %d are merged into one at a time", len(from), maxMerged)
	}
	from = slices.DeleteFunc(from, func(id string) bool { return id == req.GetIntoId() })
	if len(from) == 0 {
		return nil, fault.InvalidField("selection", "contains no person except into_id")
	}
	return from, nil
}

// LinkConnections implements the RPC.
func (h *RPC) LinkConnections(ctx context.Context, u *db.Tx, req *connectionsv1.LinkConnectionsRequest) (*connectionsv1.LinkConnectionsResponse, error) {
	link, other := Link, req.GetToId()
	if req.ToId == nil {
		link, other = LinkNamed, req.GetName()
	}
	relations, changeID, err := link(ctx, u, req.GetFromId(), other, req.GetType(), req.GetRemove())
	if err != nil {
		return nil, err
	}
	return &connectionsv1.LinkConnectionsResponse{Relationships: relationMessages(relations), ChangeId: call.Optional(changeID)}, nil
}

// UpdateOrganization implements the RPC.
func (h *RPC) UpdateOrganization(ctx context.Context, u *db.Tx, req *connectionsv1.UpdateOrganizationRequest) (*connectionsv1.UpdateOrganizationResponse, error) {
	saved, err := UpdateOrganization(ctx, u, OrganizationPatch{Name: req.GetName(), NewName: req.NewName, Website: req.Website, Address: req.Address, Notes: req.Notes})
	if err != nil {
		return nil, err
	}
	details, err := saved.Organization.Details(ctx, u)
	if err != nil {
		return nil, err
	}
	return &connectionsv1.UpdateOrganizationResponse{Organization: details.Message(call.ZoneOf(ctx)), ChangeId: call.Optional(saved.ChangeID)}, nil
}

// Message returns an organisation as answers show it. The day of the last contact is in the member's time zone.
func (d *OrganizationDetails) Message(zone *time.Location) *connectionsv1.Organization {
	m := &connectionsv1.Organization{
		Name: d.Name, Domain: d.Domain, Website: d.Website, Address: d.Address, Notes: d.Notes,
		PeopleNow: int32(d.CountNow), PeopleBefore: int32(d.CountBefore),
	}
	if !d.LastContact.IsZero() {
		m.LastContactOn, m.LastContactId, m.LastContactName = new(civil.LocalDay(d.LastContact, "", zone)), &d.LastWith.ID, &d.LastWith.Name
	}
	return m
}

// maxRelations limits how many relationships an answer shows.
const maxRelations = 50

// WholeConnection is WholeConnections for one person.
func WholeConnection(ctx context.Context, data db.Reader, c *Connection) (*connectionsv1.Connection, error) {
	whole, err := WholeConnections(ctx, data, []Connection{*c})
	if err != nil {
		return nil, err
	}
	return whole[0], nil
}

// WholeConnections returns people as answers show them, with values derived from other
// records, in the same order. It takes two statements.
func WholeConnections(ctx context.Context, data db.Reader, people []Connection) ([]*connectionsv1.Connection, error) {
	ids := IDs(people, idOf)
	strengths, err := Strengths(ctx, data, ids, data.Now())
	if err != nil {
		return nil, err
	}
	relations, err := ListRelations(ctx, data, ids, maxRelations)
	if err != nil {
		return nil, err
	}
	out := make([]*connectionsv1.Connection, len(people))
	for i := range people {
		c := &people[i]
		out[i] = connectionMessage(ctx, c)
		out[i].Strength, out[i].Relationships = int32(strengths[c.ID].Score), relationMessages(slices.Concat(relations[c.ID], c.Related))
	}
	return out, nil
}

func relationMessages(relations []Relation) []*connectionsv1.Relationship {
	out := make([]*connectionsv1.Relationship, len(relations))
	for i, r := range relations {
		out[i] = &connectionsv1.Relationship{ConnectionId: r.ConnectionID, Name: r.Name, Type: r.Word()}
	}
	return out
}

func connectionMessage(ctx context.Context, c *Connection) *connectionsv1.Connection {
	current := c.CurrentPosition()
	return &connectionsv1.Connection{
		Id: c.ID, Name: c.Name, Nickname: c.Nickname, Headline: current.Headline(), Organization: current.Organization,
		Title: current.Title, Emails: c.Values(KindEmail), Phones: c.Values(KindPhone),
		Urls: c.Values(KindURL), Location: c.Location, Bio: c.Bio, Tags: c.Tags, Starred: c.Starred,
		MetOn: c.MetOn, MetHow: c.MetHow, DeceasedOn: call.Optional(c.DeceasedOn), Source: c.Source, LastInteractionAt: call.Timestamp(c.LastInteractionAt), LastContactOn: call.DayOf(ctx, c.LastInteractionAt),
		Version: c.Version, CreatedAt: call.Timestamp(c.CreatedAt), UpdatedAt: call.Timestamp(c.UpdatedAt),
		ImportantDates: dateMessages(c.Dates), Groups: c.Groups, CadenceDays: int32(c.CadenceDays), ArchivedAt: call.Timestamp(c.ArchivedAt),
		Addresses: addressMessages(c.Addresses), Accounts: accountMessages(c.Accounts), Kept: int32(len(c.Kept)), NameParts: NamePartsMessage(c.NameParts), Labels: labelMessages(c.Handles), Fields: FieldsMessage(c.Fields),
	}
}

func addressMessages(addresses []Address) []*connectionsv1.PostalAddress {
	out := make([]*connectionsv1.PostalAddress, len(addresses))
	for i, a := range addresses {
		out[i] = &connectionsv1.PostalAddress{
			Label: call.Optional(a.Label), Street: call.Optional(a.Street), Locality: call.Optional(a.Locality), Region: call.Optional(a.Region),
			Postcode: call.Optional(a.Postcode), Country: call.Optional(a.Country), Text: call.Optional(a.Text),
		}
	}
	return out
}

// AddressesOf returns the postal addresses of a message; nil for none.
func AddressesOf(addresses []*connectionsv1.PostalAddress) (out []Address) {
	for _, a := range addresses {
		out = append(out, Address{
			Label: a.GetLabel(), Street: a.GetStreet(), Locality: a.GetLocality(), Region: a.GetRegion(), Postcode: a.GetPostcode(), Country: a.GetCountry(),
			Text: a.GetText(),
		})
	}
	return out
}

func accountMessages(accounts []Account) []*connectionsv1.Account {
	out := make([]*connectionsv1.Account, len(accounts))
	for i, a := range accounts {
		out[i] = &connectionsv1.Account{Service: a.Service, Handle: a.Handle, Label: call.Optional(a.Label)}
	}
	return out
}

// AccountsOf returns the accounts of a message; nil for none.
func AccountsOf(accounts []*connectionsv1.Account) (out []Account) {
	for _, a := range accounts {
		out = append(out, Account{Service: a.GetService(), Handle: a.GetHandle(), Label: a.GetLabel()})
	}
	return out
}

// NamePartsMessage returns the parts of a name as answers have them; nil for none.
func NamePartsMessage(n NameParts) *connectionsv1.NameParts {
	if n.IsZero() {
		return nil
	}
	m := &connectionsv1.NameParts{}
	for _, part := range n.All() {
		if *part.Value != "" {
			m.ProtoReflect().Set(fieldOfPart(m, part), protoreflect.ValueOfString(*part.Value))
		}
	}
	return m
}

// NamePartsOf returns the parts of a name of a message.
func NamePartsOf(m *connectionsv1.NameParts) (n NameParts) {
	for _, part := range n.All() {
		*part.Value = m.ProtoReflect().Get(fieldOfPart(m, part)).String()
	}
	return n
}

func fieldOfPart(m *connectionsv1.NameParts, part NamePart) protoreflect.FieldDescriptor {
	return m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(part.Name))
}

func labelMessages(handles []Handle) (out []*connectionsv1.Label) {
	for _, h := range handles {
		if h.Label != "" {
			out = append(out, &connectionsv1.Label{Of: h.Value, Label: h.Label})
		}
	}
	return out
}

// LabelsOf returns the labels of a message, by what they are of.
func LabelsOf(labels []*connectionsv1.Label) map[string]string {
	out := make(map[string]string, len(labels))
	for _, l := range labels {
		out[l.GetOf()] = l.GetLabel()
	}
	return out
}

func PositionMessages(positions []Position) []*connectionsv1.Position {
	out := make([]*connectionsv1.Position, len(positions))
	for i, p := range positions {
		out[i] = &connectionsv1.Position{
			Organization: p.Organization, Title: p.Title, StartedOn: p.StartedOn, EndedOn: p.EndedOn, Current: p.Current,
		}
	}
	return out
}

func dateMessages(dates []ImportantDate) []*connectionsv1.ImportantDate {
	out := make([]*connectionsv1.ImportantDate, len(dates))
	for i, d := range dates {
		out[i] = &connectionsv1.ImportantDate{Kind: d.Kind, Date: d.String(), Label: d.Label}
	}
	return out
}

func jobDrafts(jobs []*connectionsv1.Job) []JobDraft {
	out := make([]JobDraft, len(jobs))
	for i, j := range jobs {
		out[i] = JobDraft{Organization: j.GetOrganization(), Title: j.GetTitle(), StartedOn: j.GetStartedOn(), EndedOn: j.GetEndedOn()}
	}
	return out
}

func dateDrafts(dates []*connectionsv1.ImportantDate) []DateDraft {
	out := make([]DateDraft, len(dates))
	for i, d := range dates {
		out[i] = DateDraft{Kind: d.GetKind(), Date: d.GetDate(), Label: d.GetLabel()}
	}
	return out
}

// maxReason is the contract's bound on a reason, less the ellipsis.
const maxReason = 299

// FindDuplicates implements the RPC.
func (h *RPC) FindDuplicates(ctx context.Context, req *connectionsv1.FindDuplicatesRequest) (*connectionsv1.FindDuplicatesResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	q := Query{ConnectionID: req.GetConnectionId(), MinScore: DefaultMinScore, Limit: call.DefaultLimit}
	if req.MinScore != nil {
		q.MinScore = req.GetMinScore()
	}
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if q.ConnectionID != "" {
		if err := exists(ctx, data, q.ConnectionID); err != nil {
			return nil, err
		}
	}
	pairs, more, err := FindDuplicates(ctx, data, q)
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.FindDuplicatesResponse{HasMore: more}
	for _, pair := range pairs {
		m := &connectionsv1.DuplicatePair{First: pairMember(pair.First), Second: pairMember(pair.Second), Score: pair.Score}
		for _, reason := range pair.Reasons[:min(len(pair.Reasons), 10)] {
			m.Reasons = append(m.Reasons, text.Truncate(reason, maxReason))
		}
		res.Pairs = append(res.Pairs, m)
	}
	return res, nil
}

func pairMember(p Candidate) *connectionsv1.ResolvedPerson {
	return &connectionsv1.ResolvedPerson{Id: p.ID, Name: p.Name, Headline: p.Headline}
}

// RPC implements the RPCs of connections.
type RPC struct {
	DB    *db.DB
	Kinds history.Kinds
	// Selected reads selections of search_connections.
	Selected call.Selector
	// StoreNote stores the note that keeps what a merge leaves out.
	StoreNote StoreNote
}

// Names returns the names of the first people who changed.
func (a Acted) Names() []string {
	return call.FirstNames(a.Changed, func(c Connection) string { return c.Name })
}

// DraftOf returns the person that a request adds. The source is one of the Source constants.
func DraftOf(req *connectionsv1.CreateConnectionRequest, source string) Draft {
	return Draft{
		Name: req.GetName(), Nickname: req.GetNickname(), Organization: req.GetOrganization(), Title: req.GetTitle(),
		Location: req.GetLocation(), Bio: req.GetBio(), MetOn: req.GetMetOn(), MetHow: req.GetMetHow(), DeceasedOn: req.GetDeceasedOn(),
		Emails: req.GetEmails(), Phones: req.GetPhones(), URLs: req.GetUrls(), Tags: req.GetTags(),
		Starred: req.GetStarred(), Source: source, OnDuplicate: req.GetOnDuplicate(),
		Dates: dateDrafts(req.GetImportantDates()), Jobs: jobDrafts(req.GetPositions()),
		Addresses: AddressesOf(req.GetAddresses()), Accounts: AccountsOf(req.GetAccounts()), Labels: LabelsOf(req.GetLabels()),
	}
}

func (h *RPC) CreateConnection(ctx context.Context, u *db.Tx, req *connectionsv1.CreateConnectionRequest) (*connectionsv1.CreateConnectionResponse, error) {
	draft := DraftOf(req, SourceAgent)
	var err error
	if draft.Fields, err = FieldTexts("fields", req.GetFields()); err != nil {
		return nil, err
	}
	written, err := Create(ctx, u, draft)
	if err != nil {
		return nil, err
	}
	whole, err := WholeConnection(ctx, u, written.Connection)
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.CreateConnectionResponse{
		Connection: whole, DuplicateOf: call.Optional(written.DuplicateOf), ChangeId: call.Optional(written.ChangeID),
	}
	for _, other := range written.Sharing {
		res.SameAddress = append(res.SameAddress, &connectionsv1.SameAddress{Id: other.ID, Name: other.Name, Kind: other.Kind})
	}
	for _, other := range written.SameName {
		res.SameName = append(res.SameName, pairMember(other))
	}
	return res, nil
}

func (h *RPC) UpdateConnection(ctx context.Context, u *db.Tx, req *connectionsv1.UpdateConnectionRequest) (*connectionsv1.UpdateConnectionResponse, error) {
	fields, err := FieldTexts("set_fields", req.GetSetFields())
	if err != nil {
		return nil, err
	}
	written, err := Update(ctx, u, Patch{
		ID: req.GetId(), ExpectedVersion: req.ExpectedVersion,
		Name: req.Name, Nickname: req.Nickname, Organization: req.Organization, Title: req.Title,
		Location: req.Location, Bio: req.Bio, MetOn: req.MetOn, MetHow: req.MetHow, DeceasedOn: req.DeceasedOn, Starred: req.Starred,
		Emails: Edit{Replace: req.GetEmails(), Add: req.GetAddEmails(), Remove: req.GetRemoveEmails()},
		Phones: Edit{Replace: req.GetPhones(), Add: req.GetAddPhones(), Remove: req.GetRemovePhones()},
		URLs:   Edit{Replace: req.GetUrls(), Add: req.GetAddUrls(), Remove: req.GetRemoveUrls()},
		Tags:   Edit{Replace: req.GetTags(), Add: req.GetAddTags(), Remove: req.GetRemoveTags()},
		Dates: DateEdit{
			Replace: dateDrafts(req.GetImportantDates()), Add: dateDrafts(req.GetAddImportantDates()),
			Remove: dateDrafts(req.GetRemoveImportantDates()),
		},
		Jobs:      JobEdit{Add: jobDrafts(req.GetAddPositions()), Remove: jobDrafts(req.GetRemovePositions())},
		Addresses: AddressEdit{Set: AddressesOf(req.GetAddresses())}, Accounts: AccountsOf(req.GetAccounts()), Labels: LabelsOf(req.GetLabels()),
		Fields: fields,
	})
	if err != nil {
		return nil, err
	}
	whole, err := WholeConnection(ctx, u, written.Connection)
	if err != nil {
		return nil, err
	}
	return &connectionsv1.UpdateConnectionResponse{
		Connection: whole, ChangeId: call.Optional(written.ChangeID), RemovedImportantDates: dateMessages(written.RemovedDates),
	}, nil
}
