package indextest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"golang.org/x/text/unicode/norm"
)

const (
	// RecallAt is the number of first hits that count, RecallWanted the recall that a class must
	// reach among them.
	RecallAt     = 5
	RecallWanted = .95
)

// Question is a query with the people who should be among its first hits.
type Question struct {
	Text   string
	Wanted []string
}

// Classes are the questions about people of the source, by class.
func (s *Source) Classes(people []index.Document) map[string][]Question {
	rng := rand.New(rand.NewPCG(s.Seed, 2))
	out := map[string][]Question{
		"org": grouped(people, func(d *index.Document) string { return d.Organization }),
		"domain": grouped(people, func(d *index.Document) string {
			_, domain, _ := strings.Cut(d.Emails[0], "@")
			return domain
		}),
		"title+city": grouped(people, func(d *index.Document) string { return Plain(d.Title + " " + d.Location) }),
		"nickname":   s.nicknamed(people),
		"met_how":    grouped(people, func(d *index.Document) string { return between(d.MetHow, "At ", ",") }),
		"bio":        grouped(people, func(d *index.Document) string { return between(d.Bio, "Studied ", ",") }),
	}
	for class, ask := range map[string]func(d *index.Document) string{
		"exact":    func(d *index.Document) string { return d.Name },
		"reversed": func(d *index.Document) string { return reversed(d.Name) },
		"prefix":   func(d *index.Document) string { return beginning(d.Name) },
		"typo":     func(d *index.Document) string { return misspell(rng, d.Name) }, // the only user of rng
		"accent":   func(d *index.Document) string { return Plain(d.Name) },
		"name+org": func(d *index.Document) string { return lastName(d) + " " + strings.ToLower(d.Organization) },
		"email":    func(d *index.Document) string { return strings.ToLower(d.Emails[0]) },
		"phone":    func(d *index.Document) string { return digits(d.Phones[0]) },
		"url": func(d *index.Document) string {
			return strings.TrimPrefix(strings.TrimSuffix(d.URLs[0], "/"), "https://www.")
		},
		"note": func(d *index.Document) string { return "stone " + strings.Fields(d.Notes[0])[7] },
	} {
		for i := range people {
			out[class] = append(out[class], Question{ask(&people[i]), []string{people[i].ID}})
		}
	}
	return out
}

// Meaning returns questions whose words are in no stored record.
func (s *Source) Meaning(people []index.Document) []Question {
	var out []Question
	for is, asked := range s.Meanings {
		q := Question{Text: asked}
		for i := range people {
			d := &people[i]
			if d.Title == is || slices.Contains(d.Tags, is) || strings.Contains(d.Notes[0], is) {
				q.Wanted = append(q.Wanted, d.ID)
			}
		}
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b Question) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// Recall returns the average recall: the share of the wanted people that find returns among its
// first hits.
func Recall(questions []Question, find func(text string) (ids []string)) float64 {
	sum := 0.0
	for _, q := range questions {
		found := 0
		for _, id := range find(q.Text) {
			if slices.Contains(q.Wanted, id) {
				found++
			}
		}
		sum += float64(found) / float64(min(RecallAt, len(q.Wanted)))
	}
	return sum / float64(len(questions))
}

// grouped returns a question for every distinct text, which wants all people with this text.
func grouped(people []index.Document, text func(*index.Document) string) []Question {
	at := map[string]int{}
	var out []Question
	for i := range people {
		q := text(&people[i])
		if _, ok := at[q]; !ok {
			at[q] = len(out)
			out = append(out, Question{Text: q})
		}
		out[at[q]].Wanted = append(out[at[q]].Wanted, people[i].ID)
	}
	return out
}

// nicknamed returns questions of a nickname alone, and of another form of the given name with the
// surname.
func (s *Source) nicknamed(people []index.Document) []Question {
	var out []Question
	for i := range people {
		d := &people[i]
		if d.Nickname != "" {
			out = append(out, Question{d.Nickname, []string{d.ID}})
		}
		if short := s.First[i%len(s.First)].Short; short != "" {
			out = append(out, Question{short + " " + lastName(d), []string{d.ID}})
		}
	}
	return out
}

// between returns the part of a text between two delimiters.
func between(text, begin, end string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(text, begin), end)
	return part
}

func lastName(d *index.Document) string { return d.Name[strings.LastIndexByte(d.Name, ' ')+1:] }

func reversed(name string) string {
	first, last, _ := strings.Cut(name, " ")
	return strings.ToUpper(last) + ", " + first
}

// beginning returns the first three letters of each word.
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

// Plain returns a name as typed on a keyboard without accents.
func Plain(s string) string {
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
