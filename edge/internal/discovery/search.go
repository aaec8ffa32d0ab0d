package discovery

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxQuery bounds how much of a query counts, in bytes.
	maxQuery = 200
	// mostFound is how many results a search shows.
	mostFound = 20
)

// entry is something that the search finds: a tool, an error, or a section of a guide.
type entry struct {
	Kind string
	// Link is the text of the link to it, and Lead its first sentence; both are Markdown.
	Link, Lead string
	Path       string
	// What is searched, as words: name weighs more than title, and title more than text.
	name, title, text []string
}

// index is everything that the search finds, in the order in which equally good results are shown.
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
	// More is how many there are if those are not all, else 0.
	More int
	// Nearest are pages to offer in place of results.
	Nearest []link
}

// Quoted returns the query as Markdown that no step after takes for a link.
func (r results) Quoted() string { return strings.ReplaceAll(escapeText(r.Query), "](", `]\(`) }

// search returns the entries that have all words of the query, the best first. If none has, it
// returns those that have some.
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

// The weights of where a word is found.
const (
	exactName  = 100
	wordOfName = 8
	wordOfHead = 3
	wordOfText = 1
)

// score says how well a word of a query fits the entry; 0 if it is nowhere in it.
func (e entry) score(wanted string) int {
	return wordOfName*fit(e.name, wanted) + wordOfHead*fit(e.title, wanted) + wordOfText*fit(e.text, wanted)
}

// shortestStem is the length from which a word also fits a longer one of the query.
const shortestStem = 4

// fit says how well the best of the words fits: 3 if it is the wanted one, 2 if it begins with that,
// 1 if the wanted one begins with it, as "tokens" does with "token", else 0.
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

// isCommon reports whether a word says nothing about what is searched for.
func isCommon(word string) bool {
	return slices.Contains([]string{
		"a", "an", "and", "are", "can", "do", "does", "for", "how", "i", "in", "is", "it", "my", "of", "on", "or", "the", "to", "what", "when", "with",
	}, word)
}

// cutQuery returns a query without white space around it, cut to its longest length.
func cutQuery(query string) string {
	query = strings.TrimSpace(strings.ToValidUTF8(query, ""))
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	return query
}

// firstSentence returns the first sentence of Markdown that is text: it skips lists, tables, code, and
// links that are a sentence.
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
