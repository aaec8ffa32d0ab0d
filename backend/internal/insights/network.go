package insights

import (
	"context"
	"slices"
	"time"

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
