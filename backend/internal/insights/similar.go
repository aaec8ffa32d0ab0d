package insights

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Limits on how many people are compared.
const (
	// SharingOne is how many of the people who share one trait with a person are compared
	// with them: starred ones and then those contacted last.
	SharingOne = 100
	// CircleSize is how many of the people who share one trait are paired with each other.
	// CircleRows is how many people of a kind of trait are read, the smallest circles first.
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
	found := sharing(&of, others)
	if len(like.IDs) == 0 {
		bestFirst(found, limit, compareScored)
	} else {
		slices.SortFunc(found, compareScored)
		found = like.fuse(&of, others, found)
	}
	out := make([]Similar, min(len(found), limit))
	for i := range out {
		f := found[i]
		out[i] = Similar{Person: f.Person, Score: f.score, Reasons: reasons(&of, f.Portrait)}
		if f.alike {
			out[i].Reasons = append(slices.Clip(out[i].Reasons), line("What is stored about both is similar", of.Person.ID, f.Person.ID))
			out[i].Reasons = out[i].Reasons[max(0, len(out[i].Reasons)-maxEvidence):]
		}
	}
	return out
}

// scored is a person with a score, and whether they are in the likeness.
type scored struct {
	*Portrait

	score float64
	alike bool
}

// fuse adds the people of the likeness, and orders all by their ranks.
func (l Likeness) fuse(of *Portrait, others []Portrait, sharing []scored) []scored {
	const damping = 60 // of reciprocal rank fusion
	weight := func(rank int) float64 { return 1 / float64(damping+1+rank) }
	at := make(map[string]int, len(sharing))
	out := slices.Clone(sharing)
	for rank := range out {
		at[out[rank].Person.ID] = rank
		out[rank].score = weight(rank)
	}
	for rank, id := range l.IDs {
		i, known := at[id]
		if !known {
			p := slices.IndexFunc(others, func(p Portrait) bool { return p.Person.ID == id })
			if p < 0 || id == of.Person.ID {
				continue
			}
			i, out = len(out), append(out, scored{Portrait: &others[p]})
		}
		out[i].score += l.Weight * weight(rank)
		out[i].alike = true
	}
	for i := range out {
		out[i].score = thousandths(out[i].score / (weight(0) * (1 + l.Weight)))
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return out
}

// sharing are those who share something with a person.
func sharing(of *Portrait, others []Portrait) []scored {
	out := make([]scored, 0, len(others))
	for i := range others {
		other := &others[i]
		if other.Person.ID == of.Person.ID {
			continue
		}
		if o := compare(of, other); o.shared > 0 {
			out = append(out, scored{Portrait: other, score: thousandths(o.shared / o.all)})
		}
	}
	return out
}

// compareScored orders people by what they share.
func compareScored(a, b scored) int {
	if order := cmp.Compare(b.score, a.score); order != 0 {
		return order
	}
	return compareClose(&a.Person, &b.Person)
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
	ids, in := members(circles)
	type scoredPair struct {
		a, b  int
		score float64
	}
	var pairs []scoredPair
	score := make([]float64, len(ids))
	var met []int
	for a := range ids {
		met = met[:0]
		for _, c := range in[a] {
			for _, b := range c.members {
				if ids[b] >= ids[a] {
					continue
				}
				if score[b] == 0 {
					met = append(met, b)
				}
				score[b] += c.said
			}
		}
		for _, b := range met {
			pairs = append(pairs, scoredPair{b, a, math.Round(score[b] * 1e6)})
			score[b] = 0
		}
	}
	bestFirst(pairs, MaxPairs, func(x, y scoredPair) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(ids[x.a], ids[y.a]), cmp.Compare(ids[x.b], ids[y.b]))
	})
	out := make([]Pair, min(len(pairs), MaxPairs))
	for i := range out {
		out[i] = Pair{ids[pairs[i].a], ids[pairs[i].b]}
	}
	return out
}

// numberedCircle is a Circle of people by number, and how much it says of two of them.
type numberedCircle struct {
	members []int
	said    float64
}

// members numbers the people of the circles, and returns their ids and their circles.
func members(circles []Circle) (ids []string, in [][]numberedCircle) {
	numbers := map[string]int{}
	for _, c := range circles {
		numbered := numberedCircle{make([]int, min(len(c.IDs), CircleSize)), weight(c.Kind) / math.Log2(1+float64(len(c.IDs)))}
		for i := range numbered.members {
			n, known := numbers[c.IDs[i]]
			if !known {
				n = len(ids)
				numbers[c.IDs[i]] = n
				ids, in = append(ids, c.IDs[i]), append(in, nil)
			}
			numbered.members[i] = n
			in[n] = append(in[n], numbered)
		}
	}
	return ids, in
}

// bestFirst moves the n best items to the front, in order; those after them are in any
// order.
func bestFirst[T any](items []T, n int, compare func(a, b T) int) {
	n = min(n, len(items))
	best := items[:n]
	slices.SortFunc(best, compare)
	if n == 0 {
		return
	}
	for i := n; i < len(items); i++ {
		if compare(items[i], best[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, items[i], compare)
		item := items[i]
		items[i] = best[n-1]
		copy(best[at+1:], best[at:n-1])
		best[at] = item
	}
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

// Candidate is two people who may be introduced.
type Candidate struct {
	First, Second *Portrait

	score float64
}

func (c Candidate) pair() Pair { return NewPair(c.First.Person.ID, c.Second.Person.ID) }

// namesakes reports whether the two may be one person.
func (c Candidate) namesakes() bool {
	return text.Fold(c.First.Person.Name) == text.Fold(c.Second.Person.Name)
}

// SuggestIntroductions returns the best of the candidates. It leaves out people who are
// acquainted, work at the same place today, or have the same name. The closer the member
// is to both, the better, because an introduction needs both ties. It asks who is
// acquainted for the best pairs first, and for more only as long as too few are left.
func SuggestIntroductions(candidates []Candidate, acquainted func([]Pair) (Acquainted, error), limit int) ([]Introduction, error) {
	left := fitting(candidates)
	var out []Introduction
	for size := 4 * limit; len(left) > 0 && len(out) < limit; size *= 4 {
		bestFirst(left, size, compareCandidates)
		some := left[:min(size, len(left))]
		left = left[len(some):]
		some = slices.DeleteFunc(some, Candidate.namesakes)
		asked := make([]Pair, len(some))
		for i, c := range some {
			asked[i] = c.pair()
		}
		known, err := acquainted(asked)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			if len(out) < limit && !known[c.pair()] {
				out = append(out, Introduction{First: c.First.Person, Second: c.Second.Person, Score: c.score, Reasons: reasons(c.First, c.Second)})
			}
		}
	}
	return out, nil
}

// fitting returns the candidates who share something and are no colleagues, with scores.
func fitting(candidates []Candidate) []Candidate {
	out := make([]Candidate, 0, len(candidates))
	for _, c := range candidates {
		o := compare(c.First, c.Second)
		if o.shared == 0 || o.colleagues {
			continue
		}
		ties := float64(min(c.First.Person.Strength.Score, c.Second.Person.Strength.Score)) / 100
		c.score = thousandths(o.shared / (o.shared + fullFit) * (0.6 + 0.4*ties))
		out = append(out, c)
	}
	return out
}

func compareCandidates(a, b Candidate) int {
	if order := cmp.Compare(b.score, a.score); order != 0 {
		return order
	}
	return cmp.Or(compareClose(&a.First.Person, &b.First.Person), compareClose(&a.Second.Person, &b.Second.Person))
}

// ListAcquainted returns those of the pairs who know each other, by a relationship of any
// type or an interaction that both took part in. It takes one statement, and reads the
// interactions of the first of each pair.
func ListAcquainted(ctx context.Context, q db.Reader, pairs []Pair) (Acquainted, error) {
	if len(pairs) == 0 {
		return Acquainted{}, nil
	}
	var args []any
	for _, p := range pairs {
		args = append(args, p.First, p.Second)
	}
	tenant := q.TenantID()
	args = append(args, tenant, tenant, tenant, tenant)
	var rows []Pair
	// CROSS JOIN makes SQLite begin with the interactions of the first.
	err := q.NewRaw(`WITH pairs (first, second) AS (VALUES `+strings.TrimSuffix(strings.Repeat("(?, ?), ", len(pairs)), ", ")+`)
SELECT first, second FROM pairs
WHERE EXISTS (SELECT 1 FROM relationships WHERE tenant_id = ? AND from_id = first AND to_id = second)
OR EXISTS (SELECT 1 FROM relationships WHERE tenant_id = ? AND from_id = second AND to_id = first)
OR EXISTS (SELECT 1 FROM interaction_connections a CROSS JOIN interaction_connections b
WHERE a.tenant_id = ? AND a.connection_id = first AND b.tenant_id = ? AND b.connection_id = second AND b.interaction_id = a.interaction_id)`, args...).Scan(ctx, &rows)
	known := make(Acquainted, len(rows))
	for _, p := range rows {
		known[p] = true
	}
	return known, err
}
