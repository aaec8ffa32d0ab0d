package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	importsv1 "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
	"google.golang.org/protobuf/proto"
)

// EmbedRPC implements the RPC that makes vectors.
type EmbedRPC struct {
	Jobs     job.Jobs
	Provider vector.Provider
}

// EmbedObjects implements the RPC.
func (h *EmbedRPC) EmbedObjects(ctx context.Context, u *db.Tx, req *importsv1.EmbedObjectsRequest) (*importsv1.EmbedObjectsResponse, error) {
	params := EmbedParams{All: req.OnlyStale != nil && !req.GetOnlyStale()}
	j, started, err := StartEmbedding(ctx, u, h.Provider, tenant.PrincipalFrom(ctx).EmbeddingsHost, params, call.Price(ctx))
	if err != nil {
		return nil, err
	}
	if started {
		db.OnCommit(ctx, h.Jobs.Wake)
	} else {
		call.SkipCharge(ctx)
	}
	return &importsv1.EmbedObjectsResponse{TaskId: j.Number, Next: job.Wait(ctx, j.Number)}, nil
}

// localHost is the name of the built-in provider in answers.
const localHost = "local"

// EmbeddingsMessage tells which provider makes vectors, and whether the member allows it.
func EmbeddingsMessage(p vector.Provider, caller *tenant.Principal) *accountv1.Embeddings {
	m := &accountv1.Embeddings{Provider: localHost, Model: p.Model(), Allowed: new(Allowed(p, caller.EmbeddingsHost))}
	if host := p.Host(); host != "" {
		m.Provider = host
	}
	return m
}

// insteadOfWildcard tells the caller what to do instead of searching for a wildcard.
const insteadOfWildcard = "leave query out to list everyone who matches the filters"

// FindGroup returns the group that a filter names by id or name. When there is none, it
// fails with fault.Invalid and lists the nearest groups.
func FindGroup(ctx context.Context, data *db.Tenant, idOrName string) (groupID, name string, err error) {
	group, err := groups.FindGroup(ctx, data, idOrName)
	if fault.Is(err, fault.NotFound) {
		return "", "", fault.InvalidField("group", "%s", err)
	}
	if err != nil {
		return "", "", err
	}
	return group.ID, group.Name, nil
}

// UnknownOrganization returns the error of a field for an organisation where no person is
// or was, with the nearest names.
func UnknownOrganization(ctx context.Context, ix *index.Index, field, name string) error {
	organizations := ix.Names(func(d *index.Document) []string { return d.Organizations })
	return fault.InvalidField(field, "nobody is or was at %q%s", name, text.Nearest(ctx, organizations, name))
}

// RPC implements the RPCs that find people.
type RPC struct {
	DB     *db.DB
	Index  *IndexCache
	Search *Searcher
}

// SearchConnections implements the RPC.
func (h *RPC) SearchConnections(ctx context.Context, req *connectionsv1.SearchConnectionsRequest) (*connectionsv1.SearchConnectionsResponse, error) {
	q, err := h.query(ctx, req)
	if err != nil {
		return nil, err
	}
	order := pageOrder{Query: q, Mode: req.GetMode()}
	if q.Offset, q.Limit, err = call.PageOf(req.Limit, req.Cursor, order); err != nil {
		return nil, err
	}
	if req.GetCountOnly() || req.GroupBy != nil {
		return h.count(ctx, req, q)
	}
	p := tenant.PrincipalFrom(ctx)
	found, err := h.Search.Search(ctx, Request{Caller: p, Query: q, Mode: req.GetMode()})
	if err != nil {
		return nil, err
	}
	res := &connectionsv1.SearchConnectionsResponse{
		Hits: make([]*connectionsv1.ConnectionHit, len(found.Hits)), HasMore: found.HasMore, Count: int32(found.Count),
		ModeUsed: found.ModeUsed, Note: text.Truncate(found.Note, maxNote), StaleVectors: int32(found.Stale),
	}
	if found.Count == 0 {
		if res.Why, err = h.whyNone(ctx, q); err != nil {
			return nil, err
		}
	}
	show := newHitFields(req, q)
	for i, hit := range found.Hits {
		res.Hits[i] = show.message(hit)
	}
	if res.Selection, err = encodeSelection(p.Tenant, req, found.Words); err != nil {
		return nil, err
	}
	if res.HasMore {
		next, err := cursor.Encode(order, q.Offset+len(found.Hits))
		if err != nil {
			return nil, err
		}
		res.NextCursor = &next
	}
	return res, nil
}

// maxNote limits the note about how an answer was found, in characters.
const maxNote = 400

// pageOrder is the state that the pages of one search share.
type pageOrder struct {
	index.Query

	Mode string `json:",omitempty"`
}

// query returns the index query of a request. It fails with fault.Invalid, listing all
// fields that are wrong or contradict each other.
func (h *RPC) query(ctx context.Context, req *connectionsv1.SearchConnectionsRequest) (index.Query, error) {
	p := tenant.PrincipalFrom(ctx)
	q := index.Query{
		Text: text.Line(req.GetQuery()), Company: req.GetCompany(), Title: req.GetTitle(), Location: req.GetLocation(), Country: req.GetCountry(),
		Tags: req.GetTag(), Has: req.GetHas(), Missing: req.GetMissing(), MetHow: req.GetMetHow(),
		MetOnAfter: req.GetMetOnAfter(), MetOnBefore: req.GetMetOnBefore(),
		NeverContacted: req.NeverContacted, Starred: req.Starred, CadenceOverdue: req.CadenceOverdue, Archived: req.GetArchived(),
		OnlyBy: req.GetContactedOnlyBy(), Sort: sortOf(req), MinScore: req.MinScore, Now: h.DB.Now(), Zone: p.Timezone,
	}
	q.Reverse = reversed(q.Sort, req.GetOrder())
	var wrong []error
	check := func(err error) { wrong = append(wrong, err) }
	if req.Query != nil {
		check(call.CheckWords(q.Text, insteadOfWildcard))
	}
	check(checkCountry(q.Country))
	var err error
	q.LastContactAfter, err = call.StartOfDay(ctx, "last_contact_after", req.LastContactAfter, 0)
	check(err)
	q.CreatedAfter, err = call.StartOfDay(ctx, "created_after", req.CreatedAfter, 1)
	check(err)
	q.LastContactBefore, err = call.StartOfDay(ctx, "last_contact_before", req.LastContactBefore, 0)
	check(err)
	check(setBirthday(&q, req.GetBirthdayBetween()))
	q.Born, err = dateRange("born", req.Born)
	check(err)
	q.JobStarted, err = dateRange("job_started", req.JobStarted)
	check(err)
	q.JobEnded, err = dateRange("job_ended", req.JobEnded)
	check(err)
	if req.MetThrough != nil {
		q.MetThrough, err = h.introducer(ctx, text.Line(req.GetMetThrough()))
		check(err)
	}
	check(h.setFields(ctx, &q, req))
	check(contradictions(&q))
	if req.Group != nil {
		_, q.Group, err = FindGroup(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), req.GetGroup())
		check(err)
	}
	return q, fault.Join(wrong...)
}

// setFields reads the filters and the order by custom fields.
func (h *RPC) setFields(ctx context.Context, q *index.Query, req *connectionsv1.SearchConnectionsRequest) error {
	if len(req.GetFields().GetFields()) == 0 && req.SortField == nil {
		return nil
	}
	asked, err := people.FieldTexts("fields", req.GetFields())
	if err != nil {
		return err
	}
	p := tenant.PrincipalFrom(ctx)
	fields, err := people.ListFields(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		f := people.FindField(fields, name)
		if f == nil {
			return people.UnknownField("fields", fields, name)
		}
		condition, err := fieldFilter(f, text.Line(asked[name]))
		if err != nil {
			return err
		}
		q.Fields = append(q.Fields, condition)
	}
	if req.SortField == nil {
		return nil
	}
	f := people.FindField(fields, req.GetSortField())
	switch {
	case f == nil:
		return people.UnknownField("sort_field", fields, req.GetSortField())
	case req.Sort != nil:
		return fault.InvalidField("sort_field", "contradicts sort: leave one of them out")
	}
	q.Sort, q.SortField, q.SortNumber = index.SortField, f.FoldedName, f.Type == people.FieldNumber
	q.Reverse = req.GetOrder() == "desc"
	return nil
}

// fieldFilter reads a condition: * for any value, nothing for none, two bounds with .. between them, a number or a date, or a part
// of a text. It fails with fault.Invalid for a bound that is no number or date.
func fieldFilter(f *people.Field, condition string) (index.FieldFilter, error) {
	out := index.FieldFilter{Key: f.FoldedName, Number: f.Type == people.FieldNumber}
	from, to, ranged := strings.Cut(condition, "..")
	switch {
	case condition == "*":
	case condition == "":
		out.Missing = true
	case f.Type != people.FieldNumber && f.Type != people.FieldDate:
		out.Text = text.Fold(condition)
		if parsed, err := f.Parse(condition); err == nil && f.Type == people.FieldYesNo {
			out.Text = parsed
		}
	case ranged:
		out.From, out.To = strings.TrimSpace(from), strings.TrimSpace(to)
	default:
		out.From, out.To = condition, condition
	}
	for _, bound := range []string{out.From, out.To} {
		if _, err := f.Parse(bound); bound != "" && err != nil {
			return out, fault.InvalidField(fmt.Sprintf("fields[%q]", f.Name), "%s: give a value, two bounds such as 10..20, * for any value or an empty text for none", err)
		}
	}
	return out, nil
}

// sortOf returns the requested order. Without words there is no order by relevance.
func sortOf(req *connectionsv1.SearchConnectionsRequest) string {
	switch {
	case req.Sort != nil:
		return req.GetSort()
	case req.Query == nil:
		return index.SortName
	default:
		return index.SortRelevance
	}
}

// reversed reports whether the requested direction, asc or desc, is the opposite of the
// usual one.
func reversed(sort, order string) bool {
	descends := sort == index.SortLastContact || sort == index.SortCreated || sort == index.SortStrength || sort == index.SortRelevance
	return order == "asc" && descends || order == "desc" && !descends
}

func checkCountry(name string) error {
	if name == "" || country.Named(name) != "" {
		return nil
	}
	return fault.InvalidField("country", "%q is no country; use an English name or a code such as PT, or location for a city or region", name)
}

// setBirthday parses the two days of birthday_between.
func setBirthday(q *index.Query, days []string) error {
	if len(days) == 0 {
		return nil
	}
	if len(days) != 2 {
		return fault.InvalidField("birthday_between", `takes two days of the year, such as ["12-01", "12-31"]`)
	}
	of := func(day string) (int, error) {
		d, err := time.Parse(time.DateOnly, "2000-"+day) // a leap year
		if err != nil {
			return 0, fault.InvalidField("birthday_between", "%s", civil.NoDay(day))
		}
		return 100*int(d.Month()) + d.Day(), nil
	}
	var err error
	if q.BirthdayFrom, err = of(days[0]); err != nil {
		return err
	}
	q.BirthdayTo, err = of(days[1])
	return err
}

// contradictions fails for filters that no person can pass together.
func contradictions(q *index.Query) error {
	var errs []error
	found := func(field, format string, args ...any) {
		errs = append(errs, fault.InvalidField(field, format, args...))
	}
	if !q.LastContactAfter.IsZero() && !q.LastContactBefore.IsZero() && !q.LastContactAfter.Before(q.LastContactBefore) {
		found("last_contact_before", "must lie after last_contact_after: no person passes both")
	}
	if q.NeverContacted != nil && *q.NeverContacted && !q.LastContactAfter.IsZero() {
		found("never_contacted", "contradicts last_contact_after: no person passes both; leave one out")
	}
	if len(q.OnlyBy) > 0 && q.NeverContacted != nil && *q.NeverContacted {
		found("never_contacted", "contradicts contacted_only_by: no person passes both; leave one out")
	}
	if q.MetOnAfter != "" && q.MetOnBefore != "" && q.MetOnBefore <= q.MetOnAfter {
		found("met_on_before", "must lie after met_on_after: no person passes both")
	}
	for _, name := range q.Missing {
		if known := index.Presences(); !slices.Contains(known, name) {
			found("missing", "%q is not one of %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(q.Has, name) {
			found("missing", "%s is in has, too: no person passes both; leave one out", name)
		}
		if name == "birthday" && (q.BirthdayFrom > 0 || q.Born != index.DateRange{}) || name == "interaction" && len(q.OnlyBy) > 0 || name == "tag" && len(q.Tags) > 0 || name == "group" && q.Group != "" || name == "organization" && q.Company != "" {
			found("missing", "%s contradicts the filter for it: no person passes both; leave one out", name)
		}
	}
	return fault.Join(errs...)
}

// hitFields says which fields hits have.
type hitFields struct {
	include       map[string]bool
	due, birthday bool
	// fields are the folded names of the custom fields that hits have, beside all of them if they are included.
	fields []string
	zone   *time.Location
	now    time.Time
}

func newHitFields(req *connectionsv1.SearchConnectionsRequest, q index.Query) hitFields {
	f := hitFields{include: map[string]bool{}, zone: civil.Zone(q.Zone), now: q.Now}
	for _, name := range req.GetInclude() {
		f.include[name] = true
	}
	f.due = q.Sort == index.SortNextDue || q.CadenceOverdue != nil
	f.birthday = f.include["birthday"] || q.BirthdayFrom > 0 || q.Born != index.DateRange{}
	for _, asked := range q.Fields {
		f.fields = append(f.fields, asked.Key)
	}
	if q.Sort == index.SortField {
		f.fields = append(f.fields, q.SortField)
	}
	return f
}

func (f hitFields) message(hit index.Hit) *connectionsv1.ConnectionHit {
	d := hit.Doc
	m := &connectionsv1.ConnectionHit{
		Id: hit.ID, Name: d.Name, Headline: d.Headline, Organization: d.Organization, Location: d.Location,
		Strength: int32(people.ScoreOf(d.Ties, f.now)), Score: hit.Score, MatchedFields: hit.Matched, Snippet: hit.Snippet,
	}
	if strings.HasSuffix(d.Headline, d.Organization) {
		m.Organization = "" // the headline has it
	}
	if !d.LastInteractionAt.IsZero() {
		m.LastContactOn = dayText(civil.Of(d.LastInteractionAt, f.zone))
	}
	if f.due {
		if due, ok := d.Cadence().NextDue(f.zone); ok {
			m.NextDueOn = dayText(due)
		}
	}
	if b := d.Birthday; f.birthday && b != (index.Date{}) {
		date := people.ImportantDate{Year: int(b.Year), Month: int(b.Month), Day: int(b.Day)}.String()
		m.Birthday = &date
	}
	if len(d.Emails) > 0 && !f.include["emails"] {
		m.Email = d.Emails[0]
	}
	f.addLists(m, d)
	return m
}

// maxHitField bounds the value of a custom field in a hit, in characters.
const maxHitField = 100

// addLists adds the lists that the caller asked for.
func (f hitFields) addLists(m *connectionsv1.ConnectionHit, d *index.Document) {
	if f.include["emails"] {
		m.Emails = d.Emails
	}
	if f.include["phones"] {
		m.Phones = d.Phones
	}
	if f.include["urls"] {
		m.Urls = d.URLs
	}
	if f.include["tags"] {
		m.Tags = d.Tags
	}
	if f.include["groups"] {
		m.Groups = d.Groups
	}
	var values []people.FieldValue
	for _, v := range d.Fields {
		if f.include["fields"] || slices.Contains(f.fields, v.Key) {
			values = append(values, people.FieldValue{Name: v.Name, Type: v.Type, Value: text.Truncate(v.Value, maxHitField)})
		}
	}
	m.Fields = people.FieldsMessage(values)
	if f.include["met"] {
		m.MetOn, m.MetHow = d.MetOn, d.MetHow
	}
}

func dayText(day time.Time) *string {
	s := day.Format(time.DateOnly)
	return &s
}

// MaxSelection is the largest number of people in a selection.
const MaxSelection = 10_000

const (
	selectionPrefix = "sel_"
	tagBytes        = 6 // of selectionTag
	sumBytes        = 8 // of index.Result.Sum

	// maxSelectionText is the contract's bound on a selection, in characters.
	maxSelectionText = 2000
)

// matched is the people found by words and filters: how many, and a checksum of their ids.
type matched struct {
	Count int
	Sum   uint64
}

// encodeSelection returns a text for all people whom a search matched: the search itself,
// so that nothing is stored, and a checksum of the matched ids. It grants no access: it is
// always evaluated within the caller's own tenant. It is nil when no one or more than
// MaxSelection people matched, or when the search is too long for maxSelectionText.
func encodeSelection(t tenant.ID, req *connectionsv1.SearchConnectionsRequest, m matched) (*string, error) {
	if m.Count == 0 || m.Count > MaxSelection {
		return nil, nil
	}
	asked := proto.CloneOf(req)
	asked.Limit, asked.Cursor, asked.Order, asked.Include, asked.Mode = nil, nil, nil, nil, nil
	if asked.Query == nil {
		asked.Sort = nil
	}
	search, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
	if err != nil {
		return nil, err
	}
	body := binary.LittleEndian.AppendUint64(nil, m.Sum)
	body = append(binary.AppendUvarint(body, uint64(m.Count)), search...)
	text := selectionPrefix + base64.RawURLEncoding.EncodeToString(append(selectionTag(t, body), body...))
	if len(text) > maxSelectionText {
		return nil, nil
	}
	return &text, nil
}

// selectionTag binds a selection to a member, and detects damage.
func selectionTag(t tenant.ID, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(string(t)+"\x00"), body...))
	return sum[:tagBytes]
}

// decodeSelection decodes a selection of the same member.
func decodeSelection(t tenant.ID, selection string) (*connectionsv1.SearchConnectionsRequest, matched, error) {
	refused := fault.InvalidField("selection", "is none that search_connections gave this member; search again and pass on its selection unchanged")
	text, ok := strings.CutPrefix(selection, selectionPrefix)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(data) <= tagBytes+sumBytes || !bytes.Equal(data[:tagBytes], selectionTag(t, data[tagBytes:])) {
		return nil, matched{}, refused
	}
	body := data[tagBytes:]
	m := matched{Sum: binary.LittleEndian.Uint64(body)}
	count, n := binary.Uvarint(body[sumBytes:])
	req := &connectionsv1.SearchConnectionsRequest{}
	if n <= 0 || proto.Unmarshal(body[sumBytes+n:], req) != nil {
		return nil, matched{}, refused
	}
	m.Count = int(count)
	return req, m, nil
}

// Selected returns the ids of all people in a selection. It fails with fault.Invalid when
// the selection is not one of the caller's, and with fault.Conflict when the same search
// now matches other people.
func (h *RPC) Selected(ctx context.Context, selection string) ([]string, error) {
	p := tenant.PrincipalFrom(ctx)
	req, was, err := decodeSelection(p.Tenant, selection)
	if err != nil {
		return nil, err
	}
	q, err := h.query(ctx, req)
	if err != nil {
		return nil, err
	}
	q.Limit = MaxSelection
	found, err := h.Index.Search(ctx, p.Tenant, p.DataVersion, q)
	if err != nil {
		return nil, err
	}
	if now := (matched{Count: found.Total, Sum: found.Sum}); now != was {
		return nil, fault.New(fault.Conflict, "the selection stood for %d people and the same search matches %d by now, or others: search again", was.Count, now.Count)
	}
	return people.IDs(found.Hits, func(hit index.Hit) string { return hit.ID }), nil
}

// Alike are people ordered by how similar their vectors are to a person's vector.
type Alike struct {
	// IDs are the people, the most similar first; only those who are clearly more similar
	// than others.
	IDs []string
	// Weight is how much a rank in this list counts; a rank by shared traits counts 1.
	Weight float64
	// Used reports whether there are vectors, the caller may use them, and the person has
	// one.
	Used bool
}

// Alike returns the people similar to a person, as of the caller's data version or later.
// It uses stored vectors only and sends nothing to a provider. Without vectors it is
// empty.
func (s *Searcher) Alike(ctx context.Context, caller *tenant.Principal, id string) (Alike, error) {
	if may, _ := s.mayUse(caller); !may {
		return Alike{}, nil
	}
	set, err := s.sets.Get(ctx, caller.Tenant, caller.DataVersion)
	if err != nil {
		return Alike{}, err
	}
	vector := set.Of(id)
	if vector == nil {
		return Alike{}, nil
	}
	near, spread := set.Nearest(vector, neighbours, func(other string) bool { return other != id })
	return Alike{IDs: idsOf(outstanding(near, spread, s.provider.Noise())), Weight: weightOf(s.provider), Used: true}, nil
}

func idsOf(near []vector.Near) []string {
	ids := make([]string, len(near))
	for i, n := range near {
		ids[i] = n.ID
	}
	return ids
}
