package insights

import (
	"cmp"
	"iter"
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
	// Key is equal for equal traits of a kind, the id of a group; Label is the text for
	// readers.
	Key, Label string
	// Current is false for an organisation that the person left.
	Current bool
}

// source is the id of the group; traits of other kinds belong to the person's record.
func (t Trait) source() string {
	if t.Kind == KindGroup {
		return t.Key
	}
	return ""
}

// addTrait adds a trait to those of a person, which begin at from, unless it is there.
func addTrait(traits []Trait, from int, t Trait) []Trait {
	if t.Key == "" {
		return traits
	}
	at := slices.IndexFunc(traits[from:], func(o Trait) bool { return o.Kind == t.Kind && o.Key == t.Key })
	if at < 0 {
		return append(traits, t)
	}
	traits[from+at].Current = traits[from+at].Current || t.Current
	return traits
}

// traitsOf returns those traits of a person, each once, that people in a meeting can share.
func traitsOf(c *people.Connection, groups []Membership) []Trait {
	var out []Trait
	for _, p := range c.Positions {
		out = addTrait(out, 0, Trait{Kind: KindOrganization, Key: people.NormalOrganization(p.Organization), Label: p.Organization, Current: p.Current})
	}
	for _, g := range groups {
		out = addTrait(out, 0, Trait{Kind: KindGroup, Key: g.GroupID, Label: g.Name, Current: true})
	}
	for _, tag := range c.Tags {
		out = addTrait(out, 0, Trait{Kind: KindTag, Key: text.Fold(tag), Label: tag, Current: true})
	}
	return addTrait(out, 0, Trait{Kind: KindPlace, Key: text.Fold(c.Location), Label: c.Location, Current: true})
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

// shared returns the traits that two people share, those of the first and of the second.
func shared(a, b *Portrait) iter.Seq2[*Trait, *Trait] {
	return func(yield func(*Trait, *Trait) bool) {
		for i := range a.Traits {
			t := &a.Traits[i]
			for j := range b.Traits {
				if u := &b.Traits[j]; u.Kind == t.Kind && u.Key == t.Key && !yield(t, u) {
					return
				}
			}
		}
	}
}

// overlap is how much two people share.
type overlap struct {
	// shared and all are the weights of what both have, and of what either has.
	shared, all float64
	// colleagues are at one organisation today.
	colleagues bool
}

func compare(a, b *Portrait) overlap {
	var o overlap
	for t, u := range shared(a, b) {
		o.shared += weight(t.Kind)
		o.colleagues = o.colleagues || t.Kind == KindOrganization && t.Current && u.Current
	}
	o.all = a.weight() + b.weight() - o.shared
	return o
}

// weight is that of all traits.
func (p *Portrait) weight() float64 {
	sum := 0.0
	for i := range p.Traits {
		sum += weight(p.Traits[i].Kind)
	}
	return sum
}

// reasons describes what two people share: organisations, groups, the place, tags, titles.
func reasons(a, b *Portrait) []Evidence {
	of := map[string][][2]*Trait{}
	for t, u := range shared(a, b) {
		of[t.Kind] = append(of[t.Kind], [2]*Trait{t, u})
	}
	for _, kind := range []string{KindGroup, KindTag} {
		slices.SortFunc(of[kind], func(x, y [2]*Trait) int {
			return cmp.Or(cmp.Compare(text.Fold(x[0].Label), text.Fold(y[0].Label)), cmp.Compare(x[0].Key, y[0].Key))
		})
	}
	var out []Evidence
	add := func(said string, sources ...string) {
		out = append(out, line(said, append(sources, a.Person.ID, b.Person.ID)...))
	}
	for _, at := range of[KindOrganization] {
		add(workSentence(a.Person.Name, b.Person.Name, at))
	}
	for _, in := range of[KindGroup] {
		add("Both in the group "+in[0].Label, in[0].source())
	}
	for _, in := range of[KindPlace] {
		add("Both in " + in[0].Label)
	}
	if tags := labels(of[KindTag]); len(tags) > 0 {
		add("Both tagged " + namesOf(tags))
	}
	if words := labels(of[KindTitle]); len(words) > 0 {
		add("Both titles say " + namesOf(words))
	}
	return out[:min(len(out), maxEvidence)]
}

func labels(shared [][2]*Trait) []string {
	out := make([]string, len(shared))
	for i, p := range shared {
		out[i] = p[0].Label
	}
	return out
}

func workSentence(a, b string, p [2]*Trait) string {
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
