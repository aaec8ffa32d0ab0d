package insights

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/text"
)

// network is one state of a member's search index.
type network struct {
	look *index.Lookup
	now  time.Time
	// words and folded cache the words of titles and the folded places, because many people share
	// them.
	words  map[string][]string
	folded map[string]string
	traits []Trait // room for the traits of portraits
}

func newNetwork(ix *index.Index, now time.Time) *network {
	return &network{look: ix.Lookup(index.Query{}), now: now, words: map[string][]string{}, folded: map[string]string{}}
}

// similarTo returns the portraits of a person, of people with the same organisation, title, group, tag
// or place, and of some others. It reports false for a person who does not exist or is archived.
func (n *network) similarTo(id string, some []string) (of Portrait, others []Portrait, ok bool) {
	d, ok := n.look.Find(id)
	if !ok {
		return Portrait{}, nil, false
	}
	seen := map[*index.Document]bool{d: true}
	var found []*index.Document
	add := func(some ...*index.Document) {
		for _, other := range some {
			if !seen[other] {
				seen[other] = true
				found = append(found, other)
			}
		}
	}
	share := func(p index.Property, values ...string) {
		for _, value := range values {
			if value != "" {
				add(n.look.Sharing(p, value, SharingOne)...)
			}
		}
	}
	share(index.ByOrganization, d.Organizations...)
	share(index.ByTitle, d.Title)
	share(index.ByTitle, d.OtherTitles...)
	share(index.ByGroup, d.Groups...)
	share(index.ByTag, d.Tags...)
	share(index.ByLocation, d.Location)
	for _, id := range some {
		if other, ok := n.look.Find(id); ok {
			add(other)
		}
	}
	return n.portrait(d), n.portraits(found), true
}

// candidates returns pairs of people who may gain from an introduction: a person with each similar
// person, or with an empty id the most promising pairs. It reports false for a person who does not
// exist or is archived.
func (n *network) candidates(id string) (some []Candidate, ok bool) {
	if id == "" {
		return n.promising(), true
	}
	of, others, ok := n.similarTo(id, nil)
	out := make([]Candidate, len(others))
	for i := range others {
		out[i] = Candidate{First: &of, Second: &others[i]}
	}
	return out, ok
}

// promising returns the pairs that share the most traits. The pairs are computed once after each
// write.
func (n *network) promising() []Candidate {
	found := map[string]*Portrait{}
	portrait := func(id string) *Portrait {
		if d, ok := n.look.Find(id); ok && found[id] == nil {
			p := n.portrait(d)
			found[id] = &p
		}
		return found[id]
	}
	var out []Candidate
	for _, p := range index.Once(n.look, "promising pairs", n.promisingPairs) {
		out = append(out, Candidate{First: portrait(p.First), Second: portrait(p.Second)})
	}
	return out
}

func (n *network) promisingPairs() []Pair {
	var circles []Circle
	for _, of := range []struct {
		kind string
		by   index.Property
	}{{KindOrganization, index.ByOrganization}, {KindGroup, index.ByGroup}, {KindTag, index.ByTag}, {KindPlace, index.ByLocation}} {
		for _, circle := range n.look.Circles(of.by, CircleSize, CircleRows) {
			circles = append(circles, Circle{Kind: of.kind, IDs: people.IDs(circle, func(d *index.Document) string { return d.ID })})
		}
	}
	return Promising(circles)
}

func (n *network) portraits(docs []*index.Document) []Portrait {
	out := make([]Portrait, len(docs))
	n.traits = slices.Grow(n.traits, 10*len(docs))
	for i, d := range docs {
		out[i] = n.portrait(d)
	}
	return out
}

// portrait returns a person with the traits that others may share. Names of organisations, groups
// and tags are stored once each, so equal ones are spelt alike and need no folding.
func (n *network) portrait(d *index.Document) Portrait {
	from := len(n.traits)
	add := func(t Trait) { n.traits = addTrait(n.traits, from, t) }
	for i, o := range d.Organizations {
		add(Trait{Kind: KindOrganization, Key: o, Label: o, Current: i < int(d.CurrentJobs)})
	}
	for _, word := range n.wordsOf(d.Title) {
		add(Trait{Kind: KindTitle, Key: word, Label: word, Current: true})
	}
	for _, title := range d.OtherTitles {
		for _, word := range n.wordsOf(title) {
			add(Trait{Kind: KindTitle, Key: word, Label: word, Current: true})
		}
	}
	for i, g := range d.GroupIDs {
		add(Trait{Kind: KindGroup, Key: g, Label: d.Groups[i], Current: true})
	}
	for _, tag := range d.Tags {
		add(Trait{Kind: KindTag, Key: tag, Label: tag, Current: true})
	}
	add(Trait{Kind: KindPlace, Key: n.fold(d.Location), Label: d.Location, Current: true})
	return Portrait{Person: n.person(d), Traits: n.traits[from:len(n.traits):len(n.traits)]}
}

// person returns the document of a person as a part of an answer.
func (n *network) person(d *index.Document) Person {
	p := Person{ID: d.ID, Name: d.Name, Organization: d.Organization, Title: d.Title, LastInteractionAt: d.LastInteractionAt}
	if len(d.Interactions) > 0 {
		p.Strength = people.Strength{
			Score: people.ScoreOf(d.Ties, n.now), Meetings: int(d.Meetings), Calls: int(d.Calls), Messages: int(d.Messages),
			LastInteractionAt: d.LastInteractionAt,
		}
	}
	return p
}

// persons returns documents as a part of an answer, in their order. A contact in the future counts
// as one of now, which the index cannot compute: the strengths of people with such contacts are
// read from the database.
func (n *network) persons(ctx context.Context, q db.Reader, docs []*index.Document) ([]Person, error) {
	out := make([]Person, len(docs))
	var ahead []string
	for i, d := range docs {
		out[i] = n.person(d)
		if d.LastInteractionAt.After(n.now) {
			ahead = append(ahead, d.ID)
		}
	}
	if len(ahead) == 0 {
		return out, nil
	}
	exact, err := people.Strengths(ctx, q, ahead, n.now)
	for i, d := range docs {
		if strength, ok := exact[d.ID]; ok {
			out[i].Strength = strength
		}
	}
	return out, err
}

func (n *network) wordsOf(title string) []string {
	words, ok := n.words[title]
	if !ok {
		words = titleWords(title)
		n.words[title] = words
	}
	return words
}

func (n *network) fold(place string) string {
	folded, ok := n.folded[place]
	if !ok {
		folded = text.Fold(place)
		n.folded[place] = folded
	}
	return folded
}

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
