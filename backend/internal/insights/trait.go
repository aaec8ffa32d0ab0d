package insights

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Kinds of traits.
const (
	KindOrganization = "organization"
	KindGroup        = "group"
	KindTag          = "tag"
	KindPlace        = "place"
	KindTitle        = "title" // one word of a current title
)

// weight is how strongly a shared trait of a kind counts.
func weight(kind string) float64 {
	switch kind {
	case KindOrganization:
		return 3
	case KindGroup:
		return 2
	case KindTag, KindPlace:
		return 1.5
	}
	return 1
}

// Trait is a property that two people can have in common.
type Trait struct {
	Kind string
	// Key is equal for equal traits of a kind; Label is the text for readers.
	Key, Label string
	// Source is the id of the group; traits of other kinds belong to the person's record.
	Source string
	// Current is false for an organisation that the person left.
	Current bool
}

// traitsOf returns the traits of a person, each once.
func traitsOf(c *people.Connection, groups []Membership) []Trait {
	var out []Trait
	add := func(t Trait) {
		if t.Key == "" {
			return
		}
		at := slices.IndexFunc(out, func(o Trait) bool { return o.Kind == t.Kind && o.Key == t.Key })
		switch {
		case at < 0:
			out = append(out, t)
		case t.Current:
			out[at].Current = true
		}
	}
	for _, p := range c.Positions {
		add(Trait{Kind: KindOrganization, Key: people.NormalOrganization(p.Organization), Label: p.Organization, Current: p.Current})
		if !p.Current {
			continue
		}
		for _, word := range titleWords(p.Title) {
			add(Trait{Kind: KindTitle, Key: word, Label: word, Current: true})
		}
	}
	for _, g := range groups {
		add(Trait{Kind: KindGroup, Key: g.GroupID, Label: g.Name, Source: g.GroupID, Current: true})
	}
	for _, tag := range c.Tags {
		add(Trait{Kind: KindTag, Key: text.Fold(tag), Label: tag, Current: true})
	}
	add(Trait{Kind: KindPlace, Key: text.Fold(c.Location), Label: c.Location, Current: true})
	return out
}

// titleWords returns the folded words of a title that have a meaning of their own.
func titleWords(title string) []string {
	empty := []string{"of", "and", "the", "for", "at", "in", "to", "de", "la", "und", "der", "et"}
	words := text.Words(title)
	return slices.DeleteFunc(words, func(w string) bool { return utf8.RuneCountInString(w) < 2 || slices.Contains(empty, w) })
}

// Portrait is a person with the traits that others may share.
type Portrait struct {
	Person Person
	Traits []Trait
}

// overlap is what two people share.
type overlap struct {
	// shared and all are the weights of what both have, and of what either has.
	shared, all float64
	pairs       [][2]Trait // the traits of the first and of the second
}

func compare(a, b Portrait) overlap {
	var o overlap
	for _, t := range a.Traits {
		at := slices.IndexFunc(b.Traits, func(u Trait) bool { return u.Kind == t.Kind && u.Key == t.Key })
		o.all += weight(t.Kind)
		if at >= 0 {
			o.shared += weight(t.Kind)
			o.pairs = append(o.pairs, [2]Trait{t, b.Traits[at]})
		}
	}
	for _, t := range b.Traits {
		o.all += weight(t.Kind)
	}
	o.all -= o.shared
	return o
}

// reasons describes what two people share, the highest weight first.
func (o overlap) reasons(a, b Person) []Evidence {
	var out []Evidence
	var words, tags []string
	for _, p := range o.pairs {
		switch t := p[0]; t.Kind {
		case KindOrganization:
			out = append(out, line(workSentence(a.Name, b.Name, p), a.ID, b.ID))
		case KindGroup:
			out = append(out, line("Both in the group "+t.Label, t.Source, a.ID, b.ID))
		case KindPlace:
			out = append(out, line("Both in "+t.Label, a.ID, b.ID))
		case KindTag:
			tags = append(tags, t.Label)
		case KindTitle:
			words = append(words, t.Label)
		}
	}
	if len(tags) > 0 {
		out = append(out, line("Both tagged "+namesOf(tags), a.ID, b.ID))
	}
	if len(words) > 0 {
		out = append(out, line("Both titles say "+namesOf(words), a.ID, b.ID))
	}
	return out[:min(len(out), maxEvidence)]
}

func workSentence(a, b string, p [2]Trait) string {
	switch at := cmp.Or(p[0].Label, p[1].Label); {
	case p[0].Current && p[1].Current:
		return "Both work at " + at
	case p[0].Current:
		return a + " works at " + at + ", where " + b + " worked before"
	case p[1].Current:
		return b + " works at " + at + ", where " + a + " worked before"
	default:
		return "Both worked at " + at
	}
}
