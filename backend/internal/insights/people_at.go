package insights

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Ties of a person to an organisation, the nearest first.
const (
	TieCurrent = "current"
	TiePast    = "past"
	TieOneStep = "one_step"
)

// Place is an organisation as a caller names it, in the forms that may be stored.
type Place struct {
	// Normal is the normal name, or a part of one.
	Normal string
	// Domain is the web domain, when the caller gave one; Label is its first part.
	Domain, Label string
}

// ParsePlace parses a name, a web domain, or the address of a site or mailbox.
func ParsePlace(s string) Place {
	s = text.Line(s)
	host := strings.ToLower(s)
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	host, _, _ = strings.Cut(host, "/")
	host = strings.TrimPrefix(strings.Trim(host, "."), "www.")
	label, rest, dotted := strings.Cut(host, ".")
	if !dotted || label == "" || rest == "" || strings.ContainsAny(host, " ,") {
		return Place{Normal: people.NormalOrganization(s)}
	}
	return Place{Normal: people.NormalOrganization(s), Domain: host, Label: label}
}

// Held is a position at one of the organisations.
type Held struct {
	ConnectionID, Organization, Title, StartedOn, EndedOn string
	Current                                               bool
}

// Mailbox is an address at the organisation's domain.
type Mailbox struct{ ConnectionID, Value string }

// AtRows are the rows of a PeopleAt answer.
type AtRows struct {
	// Organizations are the names that matched.
	Organizations []string
	// Organization is the only one that matched, or nil.
	Organization *people.Organization
	// Held are positions there, Mailboxes addresses at the domain.
	Held      []Held
	Mailboxes []Mailbox
	// Relationships are those of people who hold or held a position there.
	Relationships []people.Relationship
	// People are all people in the rows above who are not archived, by id.
	People map[string]Person
}

// Insiders returns the ids of the people who are or were there.
func (r AtRows) Insiders() []string {
	var ids []string
	for _, h := range r.Held {
		ids = append(ids, h.ConnectionID)
	}
	for _, m := range r.Mailboxes {
		ids = append(ids, m.ConnectionID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// PersonAt is a person and their tie to an organisation.
type PersonAt struct {
	Person   Person
	Tie      string
	Evidence []Evidence
}

// maxEvidence limits how many lines of evidence one person has.
const maxEvidence = 10

// PeopleAt returns the people who are there, who were there, and who know one of them;
// within each group, the closest first.
func PeopleAt(rows AtRows) []PersonAt {
	found := map[string]*PersonAt{}
	put := func(id, tie string, e Evidence) {
		p, known := rows.People[id]
		if !known {
			return
		}
		at := found[id]
		if at == nil {
			at = &PersonAt{Person: p, Tie: tie}
			found[id] = at
		}
		if rank(tie) < rank(at.Tie) {
			at.Tie = tie
		}
		if len(at.Evidence) < maxEvidence {
			at.Evidence = append(at.Evidence, e)
		}
	}
	for _, h := range rows.Held {
		tie := TiePast
		if h.Current {
			tie = TieCurrent
		}
		put(h.ConnectionID, tie, line(h.sentence(), h.ConnectionID))
	}
	for _, m := range rows.Mailboxes {
		put(m.ConnectionID, TieCurrent, line("has the e-mail address "+m.Value, m.ConnectionID))
	}
	inside := map[string]Held{}
	for _, id := range rows.Insiders() {
		inside[id] = Held{}
	}
	for _, h := range slices.Backward(rows.Held) {
		inside[h.ConnectionID] = h // the first, which is the current one, stays
	}
	for _, r := range rows.Relationships {
		for _, id := range []string{r.FromID, r.ToID} {
			relation := r.SeenFrom(id)
			other := relation.ConnectionID
			if _, there := inside[id]; there {
				continue
			}
			if at, there := inside[other]; there {
				put(id, TieOneStep, line(oneStep(rows.People[other], at, relation.Type), other, r.ID))
			}
		}
	}
	return ordered(found)
}

func ordered(found map[string]*PersonAt) []PersonAt {
	out := make([]PersonAt, 0, len(found))
	for _, at := range found {
		out = append(out, *at)
	}
	slices.SortFunc(out, func(a, b PersonAt) int {
		return cmp.Or(cmp.Compare(rank(a.Tie), rank(b.Tie)), compareClose(&a.Person, &b.Person))
	})
	return out
}

func rank(tie string) int { return slices.Index([]string{TieCurrent, TiePast, TieOneStep}, tie) }

// sentence describes the position: "Founder at Helios since 2021-03".
func (h Held) sentence() string {
	s := people.Position{Organization: h.Organization, Title: h.Title}.Headline()
	switch {
	case h.Current && h.StartedOn != "":
		return s + " since " + h.StartedOn
	case h.Current:
		return s + ", current"
	case h.StartedOn != "" && h.EndedOn != "":
		return s + " from " + h.StartedOn + " to " + h.EndedOn
	case h.EndedOn != "":
		return s + " until " + h.EndedOn
	case h.StartedOn != "":
		return s + " from " + h.StartedOn + ", past"
	}
	return s + ", past"
}

// oneStep describes whom a person knows there and how.
func oneStep(insider Person, at Held, kind string) string {
	who := insider.Name
	if position := at.sentence(); at != (Held{}) {
		who += " (" + position + ")"
	}
	return tieSentence(who, kind)
}

// maxPlaces limits how many organisations a name matches, and maxRelationships how many
// relationships of the people there are read.
const (
	maxPlaces        = 20
	maxRelationships = 2000
)

// AtOptions say which people ListPeopleAt looks for.
type AtOptions struct {
	// Past asks for people who were there, and OneStep for people who know one of them.
	Past, OneStep bool
	// Limit is how many people are needed.
	Limit int
}

// ListPeopleAt reads the people with a tie to the organisations that match a place, as of now:
// those whom PeopleAt ranks first. If an organisation has exactly the name, or the domain,
// organisations whose name only contains it are left out. It finds the people in the member's
// search index, and takes four statements at most, and two more if people have future contacts.
func ListPeopleAt(ctx context.Context, q db.Reader, ix *index.Index, place Place, o AtOptions, now time.Time) (AtRows, error) {
	var out AtRows
	places, err := places(ctx, q, place)
	if err != nil {
		return out, err
	}
	for _, p := range places {
		out.Organizations = append(out.Organizations, p.Name)
	}
	if len(places) == 1 {
		out.Organization = &places[0].Organization
	}
	n := newNetwork(ix, now)
	insiders, err := n.firstInsiders(ctx, q, ix.Summary(), place, out.Organizations, o)
	if err != nil {
		return out, err
	}
	there := people.IDs(insiders, func(p Person) string { return p.ID })
	if err := readTies(ctx, q, &out, places, place.Domain, o.Past, there); err != nil {
		return out, err
	}
	out.People = make(map[string]Person, len(insiders))
	for _, p := range insiders {
		out.People[p.ID] = p
	}
	if !o.OneStep || len(there) == 0 || len(there) >= o.Limit {
		return out, nil
	}
	return out, n.addOneStep(ctx, q, &out, there)
}

// addOneStep adds the relationships of the people who are there, and who they are with.
func (n *network) addOneStep(ctx context.Context, q db.Reader, out *AtRows, there []string) error {
	err := q.From(&out.Relationships).Where("from_id IN (?) OR to_id IN (?)", bun.List(there), bun.List(there)).
		Order("id").Limit(maxRelationships).Scan(ctx)
	if err != nil {
		return err
	}
	var others []*index.Document
	for _, r := range out.Relationships {
		for _, id := range []string{r.FromID, r.ToID} {
			if d, ok := n.look.Find(id); ok {
				others = append(others, d)
			}
		}
	}
	persons, err := n.persons(ctx, q, others)
	for _, p := range persons {
		out.People[p.ID] = p
	}
	return err
}

// firstInsiders returns the people who are or were at the organisations, or have an address at the
// domain. If they are more than the limit, it returns those whom PeopleAt ranks first.
func (n *network) firstInsiders(ctx context.Context, q db.Reader, s *index.Summary, p Place, organizations []string, o AtOptions) ([]Person, error) {
	var docs []*index.Document
	current := map[string]bool{}
	s.PeopleAt(organizations, p.Domain, o.Past, func(at index.At) {
		docs = append(docs, at.Document)
		current[at.ID] = at.Current
	})
	persons, err := n.persons(ctx, q, docs)
	slices.SortFunc(persons, func(a, b Person) int {
		if current[a.ID] != current[b.ID] {
			return map[bool]int{true: -1, false: 1}[current[a.ID]]
		}
		return compareClose(&a, &b)
	})
	return persons[:min(o.Limit, len(persons))], err
}

// place is an organisation that matches; a lower rank is a better match.
type place struct {
	people.Organization

	Rank int
}

// places finds organisations: with the index on their names, and if there is none of exactly
// that name, by reading the names of all.
func places(ctx context.Context, q db.Reader, p Place) ([]place, error) {
	var found []place
	label, columns := people.NormalOrganization(p.Label), db.Columns[people.Organization](q, "o")
	if p.Domain == "" {
		err := q.NewRaw("SELECT ? FROM organizations o WHERE o.tenant_id = ? AND o.normal_name = ? AND "+people.OrganizationShown,
			columns, q.TenantID(), p.Normal).Scan(ctx, &found)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	err := q.NewRaw(`SELECT ?6, rank FROM (
SELECT ?6, CASE WHEN normal_name = ?0 OR (?1 <> '' AND (lower(domain) = ?1 OR normal_name = ?2)) THEN 0
WHEN normal_name LIKE ?3 || '%' ESCAPE '\' THEN 1 WHEN normal_name LIKE '%' || ?3 || '%' ESCAPE '\' THEN 2 ELSE 3 END AS rank
FROM organizations o WHERE o.tenant_id = ?4) AS o
WHERE rank < 3 AND `+people.OrganizationShown+` ORDER BY rank, length(normal_name), normal_name LIMIT ?5`,
		p.Normal, p.Domain, label, db.LikeEscape(p.Normal), q.TenantID(), maxPlaces, columns).Scan(ctx, &found)
	for i := range found {
		if found[0].Rank == 0 && found[i].Rank > 0 {
			return found[:i], err
		}
	}
	return found, err
}

// readTies reads the positions of people at the places, and their addresses at the domain.
func readTies(ctx context.Context, q db.Reader, out *AtRows, places []place, domain string, past bool, who []string) error {
	if len(who) == 0 {
		return nil
	}
	if len(places) > 0 {
		err := q.NewRaw(`SELECT p.connection_id, o.name AS organization, p.title, p.started_on, p.ended_on, p.current FROM positions p
JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
WHERE p.tenant_id = ? AND p.connection_id IN (?) AND p.organization_id IN (?) AND (p.current OR ?)
ORDER BY p.current DESC, p.connection_id, p.ordinal`,
			q.TenantID(), bun.List(who), bun.List(people.IDs(places, func(p place) string { return p.ID })), past).Scan(ctx, &out.Held)
		if err != nil {
			return err
		}
	}
	if domain == "" {
		return nil
	}
	return q.NewRaw(`SELECT connection_id, value FROM handles WHERE tenant_id = ? AND connection_id IN (?)
AND kind = 'email' AND normal_value LIKE '%@' || ? ESCAPE '\' ORDER BY connection_id, ordinal`,
		q.TenantID(), bun.List(who), db.LikeEscape(domain)).Scan(ctx, &out.Mailboxes)
}
