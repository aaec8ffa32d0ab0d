package insights

import (
	"cmp"
	"math"
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Limits on how many people are compared.
const (
	// LikesPerKind is how many of the people who share a kind of trait with a person are
	// compared with them: those contacted last.
	LikesPerKind = 400
	// CircleSize is how many of the people who share one trait are paired with each other.
	// CircleRows is how many rows of a kind of trait are read, the smallest circles first.
	CircleSize = 20
	CircleRows = 3000
	// MaxPairs is how many of these pairs are compared in detail.
	MaxPairs = 400
)

// Similar is a person and what they share with the requested person.
type Similar struct {
	Person  Person
	Score   float64
	Reasons []Evidence
}

// Likeness is people ordered by a similarity other than shared traits, the most similar
// first. Its weight is how much a rank in this list counts; a rank by shared traits counts
// 1.
type Likeness struct {
	IDs    []string
	Weight float64
}

// FindSimilar returns those of the others who share most with a person: the weight of what
// both have divided by the weight of what either has (weighted Jaccard). With a likeness,
// both orders are fused by the values of their ranks.
func FindSimilar(of Portrait, others []Portrait, like Likeness, limit int) []Similar {
	out := sharing(of, others)
	if len(like.IDs) > 0 {
		out = like.fuse(of, others, out)
	}
	return out[:min(len(out), limit)]
}

// fuse adds the people of the likeness, and orders all by their ranks.
func (l Likeness) fuse(of Portrait, others []Portrait, sharing []Similar) []Similar {
	const damping = 60 // of reciprocal rank fusion
	worth := func(rank int) float64 { return 1 / float64(damping+1+rank) }
	at := make(map[string]int, len(sharing))
	out := slices.Clone(sharing)
	for rank := range out {
		at[out[rank].Person.ID] = rank
		out[rank].Score = worth(rank)
	}
	for rank, id := range l.IDs {
		i, known := at[id]
		if !known {
			p := slices.IndexFunc(others, func(p Portrait) bool { return p.Person.ID == id })
			if p < 0 || id == of.Person.ID {
				continue
			}
			i, out = len(out), append(out, Similar{Person: others[p].Person})
		}
		out[i].Score += l.Weight * worth(rank)
		out[i].Reasons = append(slices.Clip(out[i].Reasons), line("What is on file about both is alike", of.Person.ID, id))
		out[i].Reasons = out[i].Reasons[max(0, len(out[i].Reasons)-maxEvidence):]
	}
	for i := range out {
		out[i].Score = thousandths(out[i].Score / (worth(0) * (1 + l.Weight)))
	}
	slices.SortStableFunc(out, func(a, b Similar) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// sharing are those who share something with a person, who shares most first.
func sharing(of Portrait, others []Portrait) []Similar {
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
	return out
}

func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }

// Circle is a set of people who share one trait.
type Circle struct {
	Kind string
	IDs  []string
}

// Pair is two people, by id, the smaller id first.
type Pair struct{ First, Second string }

// NewPair orders two ids.
func NewPair(a, b string) Pair {
	if b < a {
		a, b = b, a
	}
	return Pair{a, b}
}

// Promising returns the pairs that share most, counted by circles: a small circle is
// stronger evidence than a large one. The limits on circles limit its work.
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

// Acquainted holds the pairs who know each other: by a relationship of any type, or by an
// interaction that both took part in.
type Acquainted map[Pair]bool

// fullFit is the weight of shared traits at which the fit of a pair is one half.
const fullFit = 6

// SuggestIntroductions returns the best of the pairs. It leaves out pairs who are
// acquainted, work at the same place today, or have the same name. The closer the member
// is to both, the better, because an introduction needs both ties. In suggestions for one
// person, that person comes first in each pair; id is empty otherwise.
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
