package people

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/search/index"
)

// The weights of the grounds.
const (
	weightProfile      = .97
	weightEmail        = .95
	weightPhone        = .90
	weightURL          = .90
	weightName         = .70
	weightSimilar      = .50
	weightOrganization = .15
)

// How many people may have an address before it counts half, and before it counts nothing.
const (
	manyShare = 3
	allShare  = 50
)

// ground is one reason to believe that two people are one.
type ground struct {
	weight float64
	reason string
}

func (k key) ground(sharers int) ground {
	weight, what := weightURL, "web address"
	switch k.kind {
	case KindEmail:
		weight, what = weightEmail, "e-mail"
	case KindPhone:
		weight, what = weightPhone, "phone"
	case KindSocial:
		weight, what = weightProfile, "profile"
	}
	reason := "same " + what + ": " + k.shown
	if sharers >= manyShare || k.isShared() {
		return ground{weight / 2, reason + " (shared by several)"}
	}
	return ground{weight, reason}
}

// compare returns how likely it is that two people are one, and why. sharers counts the
// people who have an address. If something speaks against the pair (Doubt), the score is at most
// DefaultMinScore.
func compare(a, b *record, sharers func(key) int) (float64, []string) {
	var grounds []ground
	for _, k := range a.keys {
		same := func(other key) bool { return other.kind == k.kind && other.value == k.value }
		if n := sharers(k); n <= allShare && slices.ContainsFunc(b.keys, same) {
			grounds = append(grounds, k.ground(n))
		}
	}
	switch {
	case len(a.name) > 0 && (slices.Equal(a.name, b.name) || a.compactName == b.compactName):
		grounds = append(grounds, ground{weightName, "same name"})
	case similar(a, b):
		grounds = append(grounds, ground{weightSimilar, "similar names: " + a.Name + " and " + b.Name})
	}
	if len(grounds) == 0 {
		return 0, nil
	}
	slices.SortStableFunc(grounds, func(x, y ground) int {
		switch {
		case x.weight > y.weight:
			return -1
		case x.weight < y.weight:
			return 1
		default:
			return 0
		}
	})
	accident := 1.0
	var reasons []string
	for _, g := range grounds {
		accident *= 1 - g.weight
		reasons = append(reasons, g.reason)
	}
	score := 1 - accident
	for _, o := range a.organizations {
		if slices.Contains(b.organizations, o) {
			score += weightOrganization
			reasons = append(reasons, "same organisation: "+o)
			break
		}
	}
	if doubt := Doubt(&a.evidence, &b.evidence); doubt != "" {
		// The pair is shown, after all certain ones.
		return min(score, DefaultMinScore), append(reasons, "may be two people: "+doubt)
	}
	return min(score, 1), reasons
}

// similar reports whether two names may be spellings of one name: the family names are
// alike, and so are the given names.
func similar(a, b *record) bool {
	if a.family == "" || b.family == "" {
		return false
	}
	return likeFamily(a.family, b.family) && likeGiven(a.given, b.given) &&
		(a.family == b.family || a.given == b.given)
}

// likeFamily accepts a misspelt family name, and one part of a double family name.
func likeFamily(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"-") || strings.HasPrefix(b, a+"-") ||
		strings.HasSuffix(a, "-"+b) || strings.HasSuffix(b, "-"+a) || index.Misspelt(a, b)
}

// likeGiven accepts an initial, an everyday form, the first of two given names and a
// misspelling.
func likeGiven(a, b string) bool {
	if a == b || names.SameGiven(a, b) || index.Misspelt(a, b) {
		return true
	}
	if utf8.RuneCountInString(a) > utf8.RuneCountInString(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (utf8.RuneCountInString(a) == 1 || strings.HasPrefix(b, a+"-"))
}
