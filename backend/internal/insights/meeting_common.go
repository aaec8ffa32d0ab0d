package insights

import (
	"cmp"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/text"
)

const maxCommon = 20

// common returns what several of the people share, the relationships among them first.
func (r MeetingRows) common(zone *time.Location) []Evidence {
	name := map[string]string{}
	for _, c := range r.People {
		name[c.ID] = c.Name
	}
	var out []Evidence
	for _, rel := range r.Relationships {
		from, to := name[rel.FromID], name[rel.ToID]
		if from != "" && to != "" {
			out = append(out, line(between(from, to, rel.Type), rel.ID, rel.FromID, rel.ToID))
		}
	}
	for _, kind := range []string{KindOrganization, KindGroup, KindTag, KindPlace} {
		out = append(out, r.shared(kind)...)
	}
	for _, j := range r.Joint {
		var who []string
		for _, id := range j.ConnectionIDs {
			who = append(who, name[id])
		}
		out = append(out, line(civil.LocalDay(j.OccurredAt, j.OccurredLocal, zone)+" "+j.Kind+" with "+namesOf(who), append([]string{j.ID}, j.ConnectionIDs...)...))
	}
	return out[:min(len(out), maxCommon)]
}

// between says how two people are related.
func between(from, to, kind string) string {
	switch kind {
	case "introduced_by":
		return to + " introduced " + from + " to the member"
	case "colleague", "friend":
		return to + " is a " + kind + " of " + from
	case "other":
		return to + " is related to " + from
	}
	return to + " is the " + kind + " of " + from
}

// shared returns the traits of a kind that two or more of the people have; traits of the
// most people come first.
func (r MeetingRows) shared(kind string) []Evidence {
	type holders struct {
		trait    Trait
		ids, who []string
	}
	byKey := map[string]*holders{}
	for _, c := range r.People {
		for _, t := range traitsOf(&c, ofPerson(r.Groups, c.ID)) {
			if t.Kind != kind {
				continue
			}
			h := byKey[t.Key]
			if h == nil {
				h = &holders{trait: t}
				byKey[t.Key] = h
			}
			who := c.Name
			if kind == KindOrganization && !t.Current {
				who += " (before)"
			}
			h.ids, h.who = append(h.ids, c.ID), append(h.who, who)
		}
	}
	list := make([]*holders, 0, len(byKey))
	for _, h := range byKey {
		if len(h.ids) > 1 {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b *holders) int {
		return cmp.Or(cmp.Compare(len(b.ids), len(a.ids)), cmp.Compare(text.Fold(a.trait.Label), text.Fold(b.trait.Label)), cmp.Compare(a.trait.Key, b.trait.Key))
	})
	var out []Evidence
	for _, h := range list {
		sentence := map[string]string{
			KindOrganization: "At ", KindGroup: "In the group ", KindTag: "Tagged ", KindPlace: "In ",
		}[kind] + h.trait.Label + ": " + namesOf(h.who)
		out = append(out, line(sentence, append([]string{h.trait.source()}, h.ids...)...))
	}
	return out
}
