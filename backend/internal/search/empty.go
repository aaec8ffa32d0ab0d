package search

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/text"
)

const (
	// maxNamed is how many people or ways out a reason names.
	maxNamed = 3
	// maxTried is how many words are left out, one by one, to find the one that fails.
	maxTried = 8
)

// whyNone returns a sentence that says why no one matches q. It fails with fault.Invalid, listing the nearest names, when no
// person has the tag of q, or no person is or was at its company.
func (h *RPC) whyNone(ctx context.Context, q index.Query) (string, error) {
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return "", err
	}
	q.Offset, q.Limit = 0, maxNamed
	if n := ix.Search(q).Total; n > 0 {
		return "By words, " + peopleMatch(n) + ": use mode keyword.", nil
	}
	if why := otherArchiveState(ix, q); why != "" {
		return why, nil
	}
	if err := checkKnown(ctx, ix, q); err != nil {
		return "", err
	}
	return cmp.Or(whichFilter(ix, q), WhyNoMatch(ix, q)), nil
}

// WhyNoMatch returns a sentence that says why no one matches the words of q: archived people do, one of the words fails, or a
// name is misspelt. It is empty when there is nothing to say. It searches at most 18 times, in memory.
func WhyNoMatch(ix *index.Index, q index.Query) string {
	q.Offset, q.Limit = 0, maxNamed
	if why := otherArchiveState(ix, q); why != "" || q.Text == "" {
		return why
	}
	why, failing := whichWord(ix, q)
	if near := index.Named(ix.Nearest(failing, q.Archived, maxNamed)); near != "" {
		why = strings.TrimSpace(why + " Nearest: " + near + ".")
	}
	return why
}

// otherArchiveState names the archived people who match; for a search of archived people, those who are not.
func otherArchiveState(ix *index.Index, q index.Query) string {
	q.Archived = !q.Archived
	found := ix.Search(q)
	if found.Total == 0 {
		return ""
	}
	who := index.Named(found.Hits)
	if more := found.Total - len(found.Hits); more > 0 {
		who += fmt.Sprintf(" and %d more", more)
	}
	if q.Archived {
		return "Archived people match: " + who + "."
	}
	return "People who are not archived match: " + who + "."
}

// whichWord says which words no one matches, and how many match without them; or without which word people match. failing are the
// words that no one matches.
func whichWord(ix *index.Index, q index.Query) (why, failing string) {
	words := strings.Fields(q.Text)
	words = words[:min(len(words), maxTried)]
	if len(words) < 2 {
		return "", q.Text
	}
	var none []string
	for _, word := range words {
		if ix.Search(index.Query{Text: word, Archived: q.Archived, Limit: 1}).Total == 0 {
			none = append(none, word)
		}
	}
	if len(none) == 0 {
		var ways []string
		for i, word := range words {
			ways = append(ways, without(ix, q, text.Quote(word), func(q *index.Query) { q.Text = strings.Join(slices.Delete(slices.Clone(words), i, i+1), " ") }))
		}
		return sentence(ways), ""
	}
	why = "No one matches " + text.Quote(strings.Join(none, " ")) + "."
	if len(none) < len(words) {
		rest := slices.DeleteFunc(words, func(word string) bool { return slices.Contains(none, word) })
		why += " " + sentence([]string{without(ix, q, "it", func(q *index.Query) { q.Text = strings.Join(rest, " ") })})
	}
	return strings.TrimSpace(why), strings.Join(none, " ")
}

// filters are the filters of a search, by argument, with what leaves them out.
var filters = []struct {
	name string
	drop func(*index.Query)
}{
	{"company", func(q *index.Query) { q.Company = "" }},
	{"title", func(q *index.Query) { q.Title = "" }},
	{"location", func(q *index.Query) { q.Location = "" }},
	{"country", func(q *index.Query) { q.Country = "" }},
	{"tag", func(q *index.Query) { q.Tags = nil }},
	{"group", func(q *index.Query) { q.Group = "" }},
	{"has", func(q *index.Query) { q.Has = nil }},
	{"missing", func(q *index.Query) { q.Missing = nil }},
	{"met_how", func(q *index.Query) { q.MetHow = "" }},
	{"met_on_after", func(q *index.Query) { q.MetOnAfter = "" }},
	{"met_on_before", func(q *index.Query) { q.MetOnBefore = "" }},
	{"last_contact_after", func(q *index.Query) { q.LastContactAfter = index.Query{}.LastContactAfter }},
	{"last_contact_before", func(q *index.Query) { q.LastContactBefore = index.Query{}.LastContactBefore }},
	{"never_contacted", func(q *index.Query) { q.NeverContacted = nil }},
	{"cadence_overdue", func(q *index.Query) { q.CadenceOverdue = nil }},
	{"starred", func(q *index.Query) { q.Starred = nil }},
	{"born", func(q *index.Query) { q.Born = index.DateRange{} }},
	{"job_started", func(q *index.Query) { q.JobStarted = index.DateRange{} }},
	{"job_ended", func(q *index.Query) { q.JobEnded = index.DateRange{} }},
	{"contacted_only_by", func(q *index.Query) { q.OnlyBy = index.Query{}.OnlyBy }},
	{"met_through", func(q *index.Query) { q.MetThrough = nil }},
	{"birthday_between", func(q *index.Query) { q.BirthdayFrom, q.BirthdayTo = 0, 0 }},
	{"created_after", func(q *index.Query) { q.CreatedAfter = index.Query{}.CreatedAfter }},
	{"fields", func(q *index.Query) { q.Fields = nil }},
	{"min_score", func(q *index.Query) { q.MinScore = nil }},
}

// whichFilter says without which filter people match. It is empty when q has no filters, or when its words match no one without
// them either.
func whichFilter(ix *index.Index, q index.Query) string {
	bare := q
	var ways []string
	for _, f := range filters {
		rest := bare
		if f.drop(&rest); reflect.DeepEqual(rest, bare) {
			continue
		}
		bare = rest
		ways = append(ways, without(ix, q, f.name, f.drop))
	}
	if len(ways) == 0 || len(ways) == 1 && q.Text == "" {
		return ""
	}
	if n := ix.Search(bare).Total; n > 0 && q.Text != "" && sentence(ways) == "" {
		return "Without the filters, " + peopleMatch(n) + "."
	}
	return sentence(ways)
}

// without says how many people match a changed query; it is empty when no one does.
func without(ix *index.Index, q index.Query, what string, change func(*index.Query)) string {
	change(&q)
	n := ix.Search(q).Total
	if n == 0 {
		return ""
	}
	return "without " + what + ", " + peopleMatch(n)
}

// sentence joins the first ways out.
func sentence(ways []string) string {
	ways = slices.DeleteFunc(slices.Clone(ways), func(way string) bool { return way == "" })
	if len(ways) == 0 {
		return ""
	}
	joined := strings.Join(ways[:min(len(ways), maxNamed)], "; ")
	return strings.ToUpper(joined[:1]) + joined[1:] + "."
}

func peopleMatch(n int) string {
	if n == 1 {
		return "one person matches"
	}
	return fmt.Sprintf("%d people match", n)
}

// checkKnown fails with fault.Invalid, listing the nearest names, when no person has the
// tag of q, or no person is or was at its company.
func checkKnown(ctx context.Context, ix *index.Index, q index.Query) error {
	known := func(q index.Query) bool { return len(ix.Search(q).Hits) > 0 }
	for _, tag := range q.Tags {
		if !known(index.Query{Tags: []string{tag}, Archived: q.Archived, Limit: 1}) {
			tags := ix.Names(func(d *index.Document) []string { return d.Tags })
			return fault.InvalidField("tag", "nobody has the tag %q%s", tag, text.Nearest(ctx, tags, tag))
		}
	}
	if q.Company != "" && !known(index.Query{Company: q.Company, Archived: q.Archived, Limit: 1}) {
		return UnknownOrganization(ctx, ix, "company", q.Company)
	}
	return nil
}
