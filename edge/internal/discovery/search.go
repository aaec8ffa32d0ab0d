package discovery

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxQuery is how many bytes of a query are used.
	maxQuery = 200
	// mostFound is the maximum number of results that a search shows.
	mostFound = 20
)

// entry is something that the search finds: a tool, an error, or a section of a guide.
type entry struct {
	Kind string
	// Link is the text of the link to it, and Lead its first sentence; both are Markdown.
	Link, Lead string
	Path       string
	// The searched words: a match in name scores higher than one in title, and that higher than
	// one in text.
	name, title, text []string
}

// index has everything that can be found. Results with equal scores keep this order.
type index []entry

func (x *index) addTool(t toolDoc, path string) {
	texts := []string{t.Description, t.Group, t.Scopes, t.JobKind}
	for _, a := range t.Arguments {
		texts = append(texts, a.Name, a.Description)
	}
	*x = append(*x, entry{
		Kind: "Tool", Link: codeSpan(t.Name) + ": " + escapeText(t.Title), Lead: firstSentence(escapeText(t.Description)), Path: path,
		name: words(t.Name), title: words(t.Title), text: words(strings.Join(texts, " ")),
	})
}

func (x *index) addError(e errorPage, path string) {
	*x = append(*x, entry{
		Kind: "Error of " + e.Family.Title, Link: codeSpan(e.Code) + ": " + escapeText(e.Title), Lead: firstSentence(e.Meaning), Path: path,
		name: words(e.Code), title: words(e.Title + " error " + e.Status), text: words(e.Meaning + " " + e.Action),
	})
}

// addGuide adds the guide, and each of its sections that has a heading.
func (x *index) addGuide(g guide, path, text string) {
	intro, rest, _ := strings.Cut(text, "\n## ")
	*x = append(*x, entry{Kind: "Guide", Link: g.Title, Lead: upperFirst(g.Lead) + ".", Path: path, name: words(g.Title), title: words(g.Lead), text: words(intro)})
	for text := range strings.SplitSeq(strings.ReplaceAll(rest, "\n### ", "\n## "), "\n## ") {
		heading, text, _ := strings.Cut(text, "\n")
		if heading == "" {
			continue
		}
		*x = append(*x, entry{
			Kind: "Guide: " + g.Title, Link: heading, Lead: firstSentence(text), Path: path + "#" + string(headingIDs{}.Generate([]byte(heading), 0)),
			name: words(heading), title: words(g.Title), text: words(text),
		})
	}
}

// results is what a search found.
type results struct {
	Query   string
	Entries []entry
	// More is the total number of results if Entries has not all of them, else 0.
	More int
	// Nearest are pages to suggest if there are no results.
	Nearest []link
}

// Quoted returns the query as Markdown that is never rendered as a link.
func (r results) Quoted() string { return strings.ReplaceAll(escapeText(r.Query), "](", `]\(`) }

// search returns the entries that match all words of the query, the best first. If no entry does,
// it returns those that match some.
func (x index) search(query string) results {
	wanted := words(query)
	if telling := slices.DeleteFunc(slices.Clone(wanted), isCommon); len(telling) > 0 {
		wanted = telling
	}
	type ranked struct {
		entry

		words, score int
	}
	var all []ranked
	for _, e := range x {
		r := ranked{entry: e}
		for _, w := range wanted {
			if s := e.score(w); s > 0 {
				r.words++
				r.score += s
			}
		}
		if strings.Join(e.name, " ") == strings.Join(wanted, " ") {
			r.score += exactName
		}
		if r.words > 0 {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.score, a.score)) })
	found := results{Query: query}
	for _, r := range all {
		if all[0].words == len(wanted) && r.words < len(wanted) {
			break
		}
		found.More++
		if len(found.Entries) < mostFound {
			found.Entries = append(found.Entries, r.entry)
		}
	}
	if found.More == len(found.Entries) {
		found.More = 0
	}
	return found
}

// The scores of a match, by where the word is found.
const (
	exactName  = 100
	wordOfName = 8
	wordOfHead = 3
	wordOfText = 1
)

// score returns how well a word of a query matches the entry; 0 if it does not match.
func (e entry) score(wanted string) int {
	return wordOfName*fit(e.name, wanted) + wordOfHead*fit(e.title, wanted) + wordOfText*fit(e.text, wanted)
}

// shortestStem is the minimum length at which a word also matches a longer word of the query.
const shortestStem = 4

// fit returns the best match of the words: 3 for the wanted word, 2 for a word that begins with
// it, 1 for a word with which it begins (as "tokens" begins with "token"), else 0.
func fit(words []string, wanted string) int {
	best := 0
	for _, w := range words {
		switch {
		case w == wanted:
			return 3
		case strings.HasPrefix(w, wanted):
			best = 2
		case len(w) >= shortestStem && strings.HasPrefix(wanted, w):
			best = max(best, 1)
		}
	}
	return best
}

// words returns the words of a text in lower case: its letters and digits.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// isCommon reports whether a word is too common to search for.
func isCommon(word string) bool {
	return slices.Contains([]string{
		"a", "an", "and", "are", "can", "do", "does", "for", "how", "i", "in", "is", "it", "my", "of", "on", "or", "the", "to", "what", "when", "with",
	}, word)
}

// cutQuery returns a query without white space around it, cut to maxQuery bytes.
func cutQuery(query string) string {
	query = strings.TrimSpace(strings.ToValidUTF8(query, ""))
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	return query
}

// firstSentence returns the first sentence of a Markdown text. It skips lists, tables, code, and
// sentences that are only a link.
func firstSentence(markdown string) string {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(markdown), "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		if paragraph == "" || strings.HasPrefix(paragraph, "- ") || strings.HasPrefix(paragraph, "1. ") || strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "```") {
			continue
		}
		sentence, rest, more := strings.Cut(paragraph, ". ")
		if strings.HasPrefix(sentence, "[") && more {
			sentence, _, more = strings.Cut(rest, ". ")
		}
		if more {
			sentence += "."
		}
		return sentence
	}
	return ""
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
