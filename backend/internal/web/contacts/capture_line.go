package contacts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// captured is what one line says about a person.
type captured struct {
	Name, Title, Organization, Location, MetHow string
	Emails, Phones, URLs, Tags                  []string
	// Note has the words that fit nowhere else, one part of the line a line.
	Note string
}

var (
	emailWord  = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)
	linkWord   = regexp.MustCompile(`^https?://\S+$`)
	phoneWords = regexp.MustCompile(`^[+0-9(][0-9 ()./x-]{5,38}$`)
)

// titleWords are words that show where a title begins or that a part of a line is one.
func titleWords() []string {
	return []string{
		"ceo", "cto", "cfo", "coo", "cmo", "cpo", "vp", "founder", "co-founder", "cofounder", "partner", "principal", "owner", "president", "chair", "chairman", "chairwoman",
		"director", "head", "lead", "manager", "engineer", "developer", "designer", "architect", "analyst", "consultant", "adviser", "advisor", "investor", "researcher",
		"scientist", "professor", "teacher", "lawyer", "attorney", "accountant", "doctor", "nurse", "editor", "journalist", "writer", "author", "artist", "student", "intern",
		"chief", "senior", "junior", "managing", "general", "product", "software", "sales", "marketing",
	}
}

// parseLine reads one line about a person, such as "Ada Stone, CTO at Helios, met at Tideline
// Days, ada@helios.example, #investor". Commas, semicolons and line breaks separate its
// parts; the first one is the name. Words that it does not understand are in the note: it
// drops only separators and the words that say what a part is, such as met, at and in.
func parseLine(line string) captured {
	var c captured
	line = text.Line(strings.NewReplacer("\r\n", ",", "\n", ",", ";", ",").Replace(line))
	for part := range strings.SplitSeq(line, ",") {
		words := c.takeWords(strings.Fields(part))
		if at := slices.IndexFunc(words, isWord("met")); at > 0 {
			c.takePart(words[:at])
			words = words[at:]
		}
		c.takePart(words)
	}
	return c
}

// takeWords takes the words that are an e-mail address, a link, a tag or the end of a phone
// number, and returns the others.
func (c *captured) takeWords(words []string) []string {
	var rest []string
	for _, word := range words {
		bare := strings.Trim(word, "<>()")
		tag := strings.TrimLeft(word, "#")
		switch {
		case emailWord.MatchString(bare):
			c.Emails = append(c.Emails, bare)
		case linkWord.MatchString(bare):
			c.URLs = append(c.URLs, bare)
		case tag != word && text.Visible(tag):
			c.Tags = append(c.Tags, tag)
		default:
			rest = append(rest, word)
		}
	}
	for i := range rest {
		if number := strings.Join(rest[i:], " "); phoneWords.MatchString(number) && strings.Count(number, "(") == strings.Count(number, ")") {
			c.Phones = append(c.Phones, number)
			return rest[:i]
		}
	}
	return rest
}

// takePart takes a part of the line as the first of these that fits: how they met, the place,
// the name, title and organisation, or a note.
func (c *captured) takePart(words []string) {
	if len(words) == 0 {
		return
	}
	taken := false
	switch {
	case isWord("met")(words[0]):
		taken = set(&c.MetHow, withoutFirst(words[1:], "at"))
	case isWord("in")(words[0]) || isWord("from")(words[0]):
		taken = set(&c.Location, words[1:])
	case len(words) > 2 && (isWord("lives")(words[0]) || isWord("based")(words[0])) && isWord("in")(words[1]):
		taken = set(&c.Location, words[2:])
	case isWord("at")(words[0]):
		taken = set(&c.Organization, words[1:])
	case len(words) > 2 && isWord("works")(words[0]) && (isWord("at")(words[1]) || isWord("for")(words[1])):
		taken = set(&c.Organization, words[2:])
	case c.Name == "":
		taken = c.takeName(words)
	default:
		taken = c.takePosition(words)
	}
	if !taken {
		c.Note = strings.TrimPrefix(c.Note+"\n"+strings.Join(words, " "), "\n")
	}
}

// takeName takes a name that a title and an organisation may follow.
func (c *captured) takeName(words []string) bool {
	position := len(words)
	if at := slices.IndexFunc(words, isWord("at")); at > 0 && at < len(words)-1 {
		position = at
		if title := slices.IndexFunc(words[:at], isTitle); title > 0 {
			position = title
		}
	}
	c.Name = strings.Join(words[:position], " ")
	if rest := words[position:]; len(rest) > 0 && !c.takePosition(rest) {
		c.Name = strings.Join(words, " ")
	}
	return true
}

// takePosition takes a title, an organisation, or both with "at" between them.
func (c *captured) takePosition(words []string) bool {
	at := slices.IndexFunc(words, isWord("at"))
	switch {
	case at >= 0 && at < len(words)-1 && c.Organization == "" && (at == 0 || c.Title == ""):
		c.Title, c.Organization = c.Title+strings.Join(words[:at], " "), strings.Join(words[at+1:], " ")
		return true
	case slices.ContainsFunc(words, isTitle):
		return set(&c.Title, words)
	case c.Title != "":
		return set(&c.Organization, words)
	}
	return false
}

// set sets a field that is empty. It reports whether it did.
func set(field *string, words []string) bool {
	if *field != "" || len(words) == 0 {
		return false
	}
	*field = strings.Join(words, " ")
	return true
}

// withoutFirst returns the words without a first one, unless it is the only one.
func withoutFirst(words []string, first string) []string {
	if len(words) > 1 && isWord(first)(words[0]) {
		return words[1:]
	}
	return words
}

func isWord(is string) func(string) bool {
	return func(word string) bool { return strings.EqualFold(word, is) }
}

func isTitle(word string) bool { return slices.ContainsFunc(titleWords(), isWord(word)) }
