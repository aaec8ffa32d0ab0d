package search_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/kith-crm/kith/backend/internal/search"
)

const (
	relevanceSize = 200
	recallWanted  = .95
	recallAt      = 5
)

// question is one query with what should be among its first hits.
type question struct {
	text   string
	wanted []string
}

// TestRelevance asks each keyword class of the 200 people and measures which
// part of the wanted ones is among the first five.
func TestRelevance(t *testing.T) {
	t.Parallel()
	docs := people(relevanceSize)
	ix := indexOf(docs...)
	rng := rand.New(rand.NewPCG(1, 2))
	classes := map[string]func(d *search.Document) string{
		"exact":    func(d *search.Document) string { return d.Name },
		"reversed": func(d *search.Document) string { return reversed(d.Name) },
		"prefix":   func(d *search.Document) string { return beginning(d.Name) },
		"typo":     func(d *search.Document) string { return misspell(rng, d.Name) }, // the only user of rng
		"accent":   func(d *search.Document) string { return plain(d.Name) },
		"name+org": func(d *search.Document) string { return lastName(d) + " " + strings.ToLower(d.Organization) },
		"email":    func(d *search.Document) string { return strings.ToLower(d.Emails[0]) },
		"phone":    func(d *search.Document) string { return digits(d.Phones[0]) },
		"url": func(d *search.Document) string {
			return strings.TrimPrefix(strings.TrimSuffix(d.URLs[0], "/"), "https://www.")
		},
		"note": func(d *search.Document) string { return "stone " + strings.Fields(d.Notes[0])[7] },
	}
	for name, ask := range classes {
		t.Run(name, func(t *testing.T) {
			var qs []question
			for i := range docs {
				qs = append(qs, question{ask(&docs[i]), []string{docs[i].ID}})
			}
			measure(t, ix, qs)
		})
	}
	t.Run("org", func(t *testing.T) {
		measure(t, ix, grouped(docs, func(d *search.Document) string { return d.Organization }))
	})
	t.Run("domain", func(t *testing.T) {
		measure(t, ix, grouped(docs, func(d *search.Document) string { _, after, _ := strings.Cut(d.Emails[0], "@"); return after }))
	})
	t.Run("title+city", func(t *testing.T) {
		measure(t, ix, grouped(docs, func(d *search.Document) string { return plain(d.Title + " " + d.Location) }))
	})
	t.Run("nickname", func(t *testing.T) { measure(t, ix, nicknamed(docs)) })
}

func measure(t *testing.T, ix *search.Index, qs []question) {
	t.Helper()
	sum := 0.0
	for _, q := range qs {
		wanted := map[string]bool{}
		for _, id := range q.wanted {
			wanted[id] = true
		}
		found := 0
		for _, h := range ix.Search(search.Query{Text: q.text, Limit: recallAt}).Hits {
			if wanted[h.ID] {
				found++
			}
		}
		sum += float64(found) / float64(min(recallAt, len(q.wanted)))
	}
	recall := sum / float64(len(qs))
	t.Logf("recall@%d %.3f over %d questions", recallAt, recall, len(qs))
	if recall < recallWanted {
		t.Errorf("recall@%d is %.3f, want at least %.2f", recallAt, recall, recallWanted)
	}
}

// grouped asks every distinct text once and wants all that have it.
func grouped(docs []search.Document, text func(*search.Document) string) []question {
	at := map[string]int{}
	var qs []question
	for i := range docs {
		q := text(&docs[i])
		if _, ok := at[q]; !ok {
			at[q] = len(qs)
			qs = append(qs, question{text: q})
		}
		qs[at[q]].wanted = append(qs[at[q]].wanted, docs[i].ID)
	}
	return qs
}

// nicknamed asks for nicknames alone, and for other forms of given names with
// the surname.
func nicknamed(docs []search.Document) []question {
	var qs []question
	for i := range docs {
		d := &docs[i]
		if d.Nickname != "" {
			qs = append(qs, question{d.Nickname, []string{d.ID}})
		}
		if short := firstNames[i%len(firstNames)].short; short != "" {
			qs = append(qs, question{short + " " + lastName(d), []string{d.ID}})
		}
	}
	return qs
}

func lastName(d *search.Document) string { return d.Name[strings.LastIndexByte(d.Name, ' ')+1:] }

func reversed(name string) string {
	first, last, _ := strings.Cut(name, " ")
	return strings.ToUpper(last) + ", " + first
}

// beginning is the first three letters of each word.
func beginning(name string) string {
	first, last, _ := strings.Cut(name, " ")
	return string([]rune(first)[:3]) + " " + string([]rune(last)[:3])
}

// misspell makes one edit inside the longest word.
func misspell(rng *rand.Rand, name string) string {
	words := strings.Fields(name)
	longest := 0
	for i := range words {
		if len([]rune(words[i])) > len([]rune(words[longest])) {
			longest = i
		}
	}
	w := []rune(words[longest])
	at := 1 + rng.IntN(len(w)-2)
	switch rng.IntN(4) {
	case 0:
		w[at], w[at+1] = w[at+1], w[at]
	case 1:
		w[at] = 'x'
	case 2:
		w = append(w[:at], w[at+1:]...)
	default:
		w = append(w[:at], append([]rune{'x'}, w[at:]...)...)
	}
	words[longest] = string(w)
	return strings.Join(words, " ")
}

// plain is a name as typed on a keyboard without accents.
func plain(s string) string {
	s = strings.NewReplacer("Ł", "L", "ł", "l", "ø", "o", "ß", "ss", "ı", "i").Replace(s)
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

func digits(phone string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, phone)
}
