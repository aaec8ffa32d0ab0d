package insights

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
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
