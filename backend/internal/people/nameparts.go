package people

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// NameParts are the parts of a person's name, as far as somebody said them: a person's Name is what is shown, and need not have
// all of them. Each has up to 200 characters.
type NameParts struct {
	// Prefix and Suffix are titles and the like, before and after the name (RFC 6350, section 6.2.2).
	Prefix string `json:"prefix"`
	Given  string `json:"given"`
	Middle string `json:"middle"`
	Family string `json:"family"`
	Suffix string `json:"suffix"`
	// PhoneticGiven and PhoneticFamily tell how the name is read, such as in kana.
	PhoneticGiven  string `json:"phonetic_given"`
	PhoneticFamily string `json:"phonetic_family"`
	// Former is an earlier name, such as a birth name.
	Former string `json:"former"`
	// Pronouns are those that the person uses, such as they/them.
	Pronouns string `json:"pronouns"`
}

// NamePart is one part of a name. Forms, pages, tables, vCards, reports and the contract's message follow from it.
type NamePart struct {
	// Name is its name in the contract, in forms and in lossless files, Label what it is in words.
	Name, Label string
	// Column is the header of its column in CSV files. Property is the vCard property that has it alone; empty for a part of N.
	Column, Property string
	Value            *string
}

// All lists the parts, always in the same order.
func (n *NameParts) All() []NamePart {
	return []NamePart{
		{"prefix", "Title before the name", "Name prefix", "", &n.Prefix}, {"given", "First name", "Given name", "", &n.Given},
		{"middle", "Middle names", "Middle name", "", &n.Middle}, {"family", "Family name", "Family name", "", &n.Family},
		{"suffix", "Title after the name", "Name suffix", "", &n.Suffix},
		{"phonetic_given", "First name, as it is read", "Phonetic given name", "X-PHONETIC-FIRST-NAME", &n.PhoneticGiven},
		{"phonetic_family", "Family name, as it is read", "Phonetic family name", "X-PHONETIC-LAST-NAME", &n.PhoneticFamily},
		{"former", "Former name", "Former name", "X-MAIDENNAME", &n.Former},
		{"pronouns", "Pronouns", "Pronouns", "PRONOUNS", &n.Pronouns}, // RFC 9554, section 3.4
	}
}

// maxNamePart is the contract's bound on a part, in characters.
const maxNamePart = 200

// CheckNamePart fails with fault.Invalid, naming the part, if it is too long.
func CheckNamePart(part NamePart) error {
	if utf8.RuneCountInString(*part.Value) > maxNamePart {
		return fault.InvalidField(part.Name, "has more than %d characters", maxNamePart)
	}
	return nil
}

// IsZero reports whether no part is known.
func (n NameParts) IsZero() bool { return n == NameParts{} }

func (n *NameParts) clean() {
	for _, part := range n.All() {
		*part.Value = text.Line(*part.Value)
	}
}

// Joined is the name that the parts make, in the order of its culture: without forms of address such as Mr.
func (n NameParts) Joined() string {
	given, family := n.Given, n.Family
	if family != "" && strings.HasSuffix(given, " "+family) { // the first name is all of it
		family = ""
	}
	if joiner, ok := familyFirst(given, family); ok {
		return family + joiner + given
	}
	words := []string{n.Prefix, given, n.Middle, family, n.Suffix}
	if isCivil(words[0]) {
		words[0] = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// reorder makes "Vera Holm" of a name such as "Holm, Vera", whose parts become known.
func (c *Connection) reorder() {
	if family, given, ok := names.Inverted(c.Name); ok {
		c.NameParts.Family, c.NameParts.Given = family, given
		c.Name = c.NameParts.Joined()
	}
}

// isCivil reports whether a title is a form of address, such as Mr, rather than an earned
// title.
func isCivil(title string) bool {
	switch strings.TrimSuffix(text.Fold(title), ".") {
	case "mr", "mrs", "ms", "miss", "mx", "mister", "herr", "frau", "m", "mme", "mlle", "monsieur", "madame",
		"sr", "sra", "srta", "sig", "signor", "signora", "sig.ra", "dhr", "mevr", "mw", "pan", "pani", "hr", "fr":
		return true
	}
	return false
}

// familyFirst reports whether a name begins with the family name, and the separator after
// it: names in Han, kana and Hangul do. Japanese names have a space there. Short names in
// Han alone are assumed to be Chinese, and have none.
func familyFirst(given, family string) (joiner string, ok bool) {
	both := family + given
	if given == "" || family == "" || !only(both, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return "", false
	}
	const short = 3
	if only(both, unicode.Hangul) || only(both, unicode.Han) && utf8.RuneCountInString(both) <= short {
		return "", true
	}
	return " ", true
}

func only(s string, tables ...*unicode.RangeTable) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.In(r, tables...) && r != 'ー' && r != '々' })
}

// absorbNameParts fills in the parts that c does not have or for which the choices say so, and calls
// conflict with those that do not stay.
func (c *Connection) absorbNameParts(other NameParts, choose MergeChoices, conflict func(field, kept, dropped string)) {
	its := other.All()
	for i, mine := range c.NameParts.All() {
		dropped := *its[i].Value
		if *mine.Value == "" || dropped != "" && choose.takes(mine.Name) {
			*mine.Value, dropped = dropped, *mine.Value
		}
		if text.Fold(*mine.Value) != text.Fold(dropped) {
			conflict(mine.Name, *mine.Value, dropped)
		}
	}
}

// nameParts sets the parts that the file has.
func (b *blend) nameParts(from NameParts) {
	its := from.All()
	for i, mine := range b.NameParts.All() {
		set(b, strings.ToLower(mine.Label[:1])+mine.Label[1:], mine.Value, *its[i].Value)
	}
}

// OtherNames are the parts that the name does not have, such as a former name: what else the person is found by.
func (c *Connection) OtherNames() (all []string) {
	for _, part := range c.NameParts.All() {
		if part.Name != "pronouns" && part.Name != "prefix" && *part.Value != "" && !strings.Contains(text.Fold(c.Name), text.Fold(*part.Value)) {
			all = append(all, *part.Value)
		}
	}
	return slices.Compact(all)
}
