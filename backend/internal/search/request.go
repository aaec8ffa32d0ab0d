package search

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// query returns the index query of a request. It fails with fault.Invalid, listing all
// fields that are wrong or contradict each other.
func (h *RPC) query(ctx context.Context, req *connectionsv1.SearchConnectionsRequest) (index.Query, error) {
	p := tenant.PrincipalFrom(ctx)
	q := index.Query{
		Text: text.Line(req.GetQuery()), Company: req.GetCompany(), Title: req.GetTitle(), Location: req.GetLocation(), Country: req.GetCountry(),
		Tags: req.GetTag(), Has: req.GetHas(), Missing: req.GetMissing(), MetHow: req.GetMetHow(),
		MetOnAfter: req.GetMetOnAfter(), MetOnBefore: req.GetMetOnBefore(),
		NeverContacted: req.NeverContacted, Starred: req.Starred, CadenceOverdue: req.CadenceOverdue, Archived: req.GetArchived(),
		Sort: sortOf(req), MinScore: req.MinScore, Now: h.DB.Now(), Zone: p.Timezone,
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
	check(contradictions(&q))
	if req.Group != nil {
		_, q.Group, err = FindGroup(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), req.GetGroup())
		check(err)
	}
	return q, fault.Join(wrong...)
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
	if q.MetOnAfter != "" && q.MetOnBefore != "" && q.MetOnBefore <= q.MetOnAfter {
		found("met_on_before", "must lie after met_on_after: no person passes both")
	}
	for _, name := range q.Missing {
		if slices.Contains(q.Has, name) {
			found("missing", "%s is in has, too: no person passes both; leave one out", name)
		}
		if name == "birthday" && q.BirthdayFrom > 0 || name == "tag" && len(q.Tags) > 0 || name == "group" && q.Group != "" || name == "organization" && q.Company != "" {
			found("missing", "%s contradicts the filter for it: no person passes both; leave one out", name)
		}
	}
	return fault.Join(errs...)
}

// hitFields says which fields hits have.
type hitFields struct {
	include       map[string]bool
	due, birthday bool
	zone          *time.Location
	now           time.Time
}

func newHitFields(req *connectionsv1.SearchConnectionsRequest, q index.Query) hitFields {
	f := hitFields{include: map[string]bool{}, zone: civil.Zone(q.Zone), now: q.Now}
	for _, name := range req.GetInclude() {
		f.include[name] = true
	}
	f.due = q.Sort == index.SortNextDue || q.CadenceOverdue != nil
	f.birthday = f.include["birthday"] || q.BirthdayFrom > 0
	return f
}

func (f hitFields) message(hit index.Hit) *connectionsv1.ConnectionHit {
	d := hit.Doc
	m := &connectionsv1.ConnectionHit{
		Id: hit.ID, Name: d.Name, Headline: d.Headline, Organization: d.Organization, Location: d.Location,
		Strength: int32(people.ScoreOf(d.Ties, f.now)), Score: hit.Score, MatchedFields: hit.Matched, Snippet: hit.Snippet,
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
	if f.include["met"] {
		m.MetOn, m.MetHow = d.MetOn, d.MetHow
	}
}

func dayText(day time.Time) *string {
	s := day.Format(time.DateOnly)
	return &s
}
