package timeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	"github.com/uptrace/bun"
)

// What interactions are grouped by.
const (
	ByPerson       = "person"
	ByKind         = "kind"
	ByMonth        = "month"
	ByOrganization = "organization"
	ByTag          = "tag"
)

// CountQuery says which interactions to count, and how.
type CountQuery struct {
	// By is one of the By constants, or empty for no groups. Limit is the largest number of groups, at least 1.
	By    string
	Limit int
	// Kinds is empty for all. Since (inclusive) and Until (exclusive) are zero for no limit.
	Kinds        []string
	Since, Until time.Time
	// ConnectionIDs and Tag, in any case, narrow the people who count: interactions without one of them are left out, and groups are of
	// them alone. Archived people never count. Both may be empty.
	ConnectionIDs []string
	Tag           string
	// Zone is the one that months are of.
	Zone *time.Location
}

// Count is a number of interactions and the sum of their known durations.
type Count struct{ Count, Minutes int32 }

// GroupCount is the Count of a group. ID is the person's, the organisation's or the tag's.
type GroupCount struct {
	Count

	ID, Name string
}

// Counts is what CountInteractions returns. An interaction counts once in All, and once in each group in which it has people.
type Counts struct {
	All Count
	// Groups are those with the most interactions, and of equal ones those with the most minutes; months without interactions are
	// left out, and the others in their order, up to the latest.
	Groups []GroupCount
	// More reports that there are further groups.
	More bool
}

// CountInteractions counts interactions. It takes one statement, and another one for groups. It fails with fault.NotFound or
// fault.Conflict for one of the ConnectionIDs that does not exist or is archived.
func CountInteractions(ctx context.Context, r db.Reader, q CountQuery) (Counts, error) {
	if err := people.AllLive(ctx, r, q.ConnectionIDs); err != nil {
		return Counts{}, err
	}
	var out Counts
	var all struct {
		Count

		First, Last bun.NullTime
	}
	where, args := q.interactions(r)
	err := r.NewRaw("SELECT count(*) AS count, coalesce(sum(i.duration_minutes), 0) AS minutes, min(i.occurred_at) AS first, max(i.occurred_at) AS last"+where, args...).Scan(ctx, &all)
	if out.All = all.Count; err != nil || q.By == "" || all.Count.Count == 0 {
		return out, err
	}
	switch q.By {
	case ByKind:
		out.Groups, err = q.group(ctx, r, "i.kind", nil)
	case ByMonth:
		months := q.months(all.First.Time, all.Last.Time)
		label, labelArgs := monthLabel(months, q.Zone)
		q.Since = laterOf(q.Since, civil.Start(months[0], q.Zone))
		out.Groups, err = q.group(ctx, r, label, labelArgs)
		slices.SortFunc(out.Groups, func(a, b GroupCount) int { return strings.Compare(a.Name, b.Name) })
		out.More = all.First.Before(civil.Start(months[0], q.Zone))
	default:
		out.Groups, err = q.groupPeople(ctx, r)
	}
	if len(out.Groups) > q.Limit {
		out.Groups, out.More = out.Groups[:q.Limit], true
	}
	return out, err
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// months returns the first days of the months from one time to another, the last q.Limit of them.
func (q CountQuery) months(first, last time.Time) []time.Time {
	var out []time.Time
	at := civil.Of(last, q.Zone)
	for at = at.AddDate(0, 0, 1-at.Day()); len(out) < q.Limit; at = at.AddDate(0, -1, 0) {
		out = append(out, at)
		if !civil.Start(at, q.Zone).After(first) {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// monthLabel returns an expression for the month of an interaction, as YYYY-MM. Databases know the zones of their own data: SQLite none.
func monthLabel(months []time.Time, zone *time.Location) (expression string, args []any) {
	latest := months[len(months)-1].Format("2006-01")
	if len(months) == 1 {
		return "?", []any{latest}
	}
	var b strings.Builder
	b.WriteString("CASE")
	for _, month := range months[1:] {
		b.WriteString(" WHEN i.occurred_at < ? THEN ?")
		args = append(args, civil.Start(month, zone).UTC(), month.AddDate(0, -1, 0).Format("2006-01"))
	}
	b.WriteString(" ELSE ? END")
	return b.String(), append(args, latest)
}

// interactions returns the part of a statement that selects interactions i.
func (q CountQuery) interactions(r db.Reader) (statement string, args []any) {
	where, args := q.conditions(r)
	someone, peopleArgs := q.people(r)
	if len(q.ConnectionIDs) == 0 && q.Tag == "" {
		return " FROM interactions i" + where + " AND EXISTS (SELECT 1" + someone + " AND l.interaction_id = i.id)", append(args, peopleArgs...)
	}
	return " FROM interactions i" + where + " AND i.id IN (SELECT l.interaction_id" + someone + ")", append(args, peopleArgs...)
}

// conditions returns the conditions on interactions i alone.
func (q CountQuery) conditions(r db.Reader) (where string, args []any) {
	where, args = " WHERE i.tenant_id = ?", []any{r.TenantID()}
	add := func(asked bool, condition string, value any) {
		if asked {
			where, args = where+condition, append(args, value)
		}
	}
	add(len(q.Kinds) > 0, " AND i.kind IN (?)", bun.List(q.Kinds))
	add(!q.Since.IsZero(), " AND i.occurred_at >= ?", q.Since)
	add(!q.Until.IsZero(), " AND i.occurred_at < ?", q.Until)
	return where, args
}

// people returns the part of a statement that selects the interactions l of the people who count. The few archived people are
// looked up once, not each person.
func (q CountQuery) people(r db.Reader) (statement string, args []any) {
	statement = ` FROM interaction_connections l WHERE l.tenant_id = ?
AND l.connection_id NOT IN (SELECT c.id FROM connections c WHERE c.tenant_id = ? AND c.archived_at IS NOT NULL)`
	args = []any{r.TenantID(), r.TenantID()}
	if len(q.ConnectionIDs) > 0 {
		statement, args = statement+" AND l.connection_id IN (?)", append(args, bun.List(q.ConnectionIDs))
	}
	if q.Tag != "" {
		statement += ` AND l.connection_id IN (SELECT ct.connection_id FROM tags t JOIN connection_tags ct ON ct.tenant_id = t.tenant_id AND ct.tag_id = t.id
WHERE t.tenant_id = ? AND t.folded_name = ?)`
		args = append(args, r.TenantID(), text.Fold(text.Clean(q.Tag)))
	}
	return statement, args
}

// group counts interactions by an expression over them.
func (q CountQuery) group(ctx context.Context, r db.Reader, label string, args []any) (groups []GroupCount, err error) {
	where, whereArgs := q.interactions(r)
	statement := "SELECT name, count(*) AS count, sum(duration_minutes) AS minutes FROM (SELECT " + label + " AS name, i.duration_minutes" + where +
		") AS g GROUP BY name ORDER BY count DESC, minutes DESC, name LIMIT ?"
	err = r.NewRaw(statement, append(append(args, whereArgs...), q.Limit+1)...).Scan(ctx, &groups)
	return groups, err
}

// groupPeople counts interactions by their people, or by what these have.
func (q CountQuery) groupPeople(ctx context.Context, r db.Reader) (groups []GroupCount, err error) {
	key, joins, of, ordered := "d.connection_id", "", "connections", "folded_name"
	switch q.By {
	case ByOrganization:
		key, of, ordered = "DISTINCT p.organization_id", "organizations", "normal_name"
		joins = " JOIN positions p ON p.tenant_id = d.tenant_id AND p.connection_id = d.connection_id AND p.current"
	case ByTag:
		key, of = "DISTINCT ct.tag_id", "tags"
		joins = " JOIN connection_tags ct ON ct.tenant_id = d.tenant_id AND ct.connection_id = d.connection_id"
	}
	someone, args := q.people(r)
	where, whereArgs := q.conditions(r)
	statement := `SELECT o.id, o.name, g.count, g.minutes FROM (SELECT id, count(*) AS count, sum(duration_minutes) AS minutes FROM (
SELECT ` + key + ` AS id, i.id AS interaction_id, i.duration_minutes
FROM (SELECT l.tenant_id, l.connection_id, l.interaction_id` + someone + `) AS d
JOIN interactions i ON i.tenant_id = d.tenant_id AND i.id = d.interaction_id` + joins + where + `) AS e GROUP BY id) AS g
JOIN ` + of + ` o ON o.tenant_id = ? AND o.id = g.id ORDER BY g.count DESC, g.minutes DESC, o.` + ordered + `, o.id LIMIT ?`
	err = r.NewRaw(statement, append(append(args, whereArgs...), r.TenantID(), q.Limit+1)...).Scan(ctx, &groups)
	return groups, err
}

// CountInteractions implements the RPC.
func (h *RPC) CountInteractions(ctx context.Context, req *timelinev1.CountInteractionsRequest) (*timelinev1.CountInteractionsResponse, error) {
	q := CountQuery{By: req.GetGroupBy(), Limit: call.DefaultLimit, Kinds: req.GetKinds(), ConnectionIDs: req.GetConnectionIds(), Tag: req.GetTag(), Zone: call.ZoneOf(ctx)}
	if q.By == ByPerson {
		q.Limit = 5 // a person takes twice the tokens of another group
	}
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	var err error
	if q.Since, q.Until, err = span(ctx, req.Since, req.Until); err != nil {
		return nil, err
	}
	p := tenant.PrincipalFrom(ctx)
	counts, err := CountInteractions(ctx, h.DB.Tenant(p.Tenant, p.ReadOnly), q)
	if err == nil && q.Tag != "" && counts.All.Count == 0 {
		err = h.checkTag(ctx, q.Tag)
	}
	if err != nil {
		return nil, err
	}
	res := &timelinev1.CountInteractionsResponse{Count: counts.All.Count, Minutes: counts.All.Minutes, HasMore: counts.More}
	for _, g := range counts.Groups {
		m := &timelinev1.InteractionCount{Name: g.Name, Count: g.Count.Count, Minutes: g.Minutes}
		if q.By == ByPerson {
			m.Id = g.ID
		}
		res.Groups = append(res.Groups, m)
	}
	return res, nil
}

// checkTag fails with fault.Invalid, listing the nearest tags, when nobody has the tag. It is for empty answers only.
func (h *RPC) checkTag(ctx context.Context, tag string) error {
	ix, err := h.Index(ctx)
	if err != nil {
		return err
	}
	tags := ix.Names(func(d *index.Document) []string { return d.Tags })
	if slices.ContainsFunc(tags, func(known string) bool { return text.Fold(known) == text.Fold(text.Clean(tag)) }) {
		return nil
	}
	return fault.InvalidField("tag", "nobody has the tag %q%s", tag, text.Nearest(ctx, tags, tag))
}
