package insight

import (
	"cmp"
	"math"
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds on how many people are compared.
const (
	// LikesPerKind is how many of those who share a kind of trait with a person
	// are compared with them: the ones contacted last.
	LikesPerKind = 400
	// CircleSize is how many of those who share one trait are paired with each
	// other, CircleRows how many rows of a kind of trait are read, the smallest
	// circles first.
	CircleSize = 20
	CircleRows = 3000
	// MaxPairs is how many of the pairs found so are looked at closely.
	MaxPairs = 400
)

// Similar is a person and what they share with the one asked about.
type Similar struct {
	Person  Person
	Score   float64
	Reasons []Evidence
}

// FindSimilar returns those of the others who share most with a person: the weight
// of what both have over the weight of what either has (weighted Jaccard).
func FindSimilar(of Portrait, others []Portrait, limit int) []Similar {
	var out []Similar
	for _, other := range others {
		if other.Person.ID == of.Person.ID {
			continue
		}
		if o := compare(of, other); o.shared > 0 {
			out = append(out, Similar{Person: other.Person, Score: thousandths(o.shared / o.all), Reasons: o.reasons(of.Person, other.Person)})
		}
	}
	slices.SortFunc(out, func(a, b Similar) int { return cmp.Or(cmp.Compare(b.Score, a.Score), compareClose(a.Person, b.Person)) })
	return out[:min(len(out), limit)]
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }

// Circle is people who share one trait.
type Circle struct {
	Kind string
	IDs  []string
}

// Pair is two people, by id, the smaller one first.
type Pair struct{ First, Second string }

// NewPair orders two ids.
func NewPair(a, b string) Pair {
	if b < a {
		a, b = b, a
	}
	return Pair{a, b}
}

// Promising returns the pairs that share most, counted by circles: a small circle
// says more than a large one. Its work is bounded by the bounds on circles.
func Promising(circles []Circle) []Pair {
	scores := map[Pair]float64{}
	for _, c := range circles {
		ids := c.IDs[:min(len(c.IDs), CircleSize)]
		said := weight(c.Kind) / math.Log2(1+float64(len(c.IDs)))
		for i, a := range ids {
			for _, b := range ids[:i] {
				scores[NewPair(a, b)] += said
			}
		}
	}
	pairs := make([]Pair, 0, len(scores))
	for p := range scores {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(math.Round(scores[b]*1e6), math.Round(scores[a]*1e6)), cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
	})
	return pairs[:min(len(pairs), MaxPairs)]
}

// Introduction is two people who might gain from knowing each other.
type Introduction struct {
	First, Second Person
	Score         float64
	Reasons       []Evidence
}

// Acquainted tells which pairs know each other: by a relationship of any type, or
// by an interaction that both took part in.
type Acquainted map[Pair]bool

// fullFit is the weight of shared traits at which a pair fits by half.
const fullFit = 6

// SuggestIntroductions returns the best of the pairs. Pairs who are acquainted,
// work at the same place today, or bear the same name are left out. The closer the
// member is to both, the better: an introduction rests on both ties. A person whom
// the suggestions are for comes first in each; id is empty when there is none.
func SuggestIntroductions(id string, people map[string]Portrait, pairs []Pair, known Acquainted, limit int) []Introduction {
	var out []Introduction
	for _, p := range pairs {
		a, haveA := people[p.First]
		b, haveB := people[p.Second]
		if p.Second == id {
			a, b = b, a
		}
		if !haveA || !haveB || p.First == p.Second || known[NewPair(p.First, p.Second)] || text.Fold(a.Person.Name) == text.Fold(b.Person.Name) {
			continue
		}
		o := compare(a, b)
		if o.shared == 0 || o.workTogether() {
			continue
		}
		ties := float64(min(a.Person.Strength.Score, b.Person.Strength.Score)) / 100
		out = append(out, Introduction{
			First: a.Person, Second: b.Person, Reasons: o.reasons(a.Person, b.Person),
			Score: thousandths(o.shared / (o.shared + fullFit) * (0.6 + 0.4*ties)),
		})
	}
	slices.SortFunc(out, func(a, b Introduction) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compareClose(a.First, b.First), compareClose(a.Second, b.Second))
	})
	return out[:min(len(out), limit)]
}

func (o overlap) workTogether() bool {
	return slices.ContainsFunc(o.pairs, func(p [2]Trait) bool {
		return p[0].Kind == KindOrganization && p[0].Current && p[1].Current
	})
}
