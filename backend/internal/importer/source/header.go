package source

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// field is the meaning of a column.
type field int

const (
	fieldUnknown field = iota
	// fieldIgnored is known but not imported, such as a photo.
	fieldIgnored
	fieldFullName
	fieldNamePrefix
	fieldGivenName
	fieldMiddleName
	fieldFamilyName
	fieldNameSuffix
	fieldOrganization
	fieldJobTitle
	// fieldTitle is the job title, or an honorific beside a job title.
	fieldTitle
	fieldEmail
	fieldPhone
	fieldWebAddress
	fieldProfile
	fieldCity
	fieldRegion
	fieldCountry
	fieldPostcode
	// fieldStreet is any line of an address above the town.
	fieldStreet
	// fieldWholeAddress is an address in one text; fieldLocation says where the person is.
	fieldWholeAddress
	fieldLocation
	fieldAboutText
	fieldTags
	fieldGroups
	fieldStarred
	fieldMetOn
	// fieldText is a text that is imported unchanged; the label is its name.
	fieldText
	fieldBirthday
	fieldBirthDay
	fieldBirthMonth
	fieldBirthYear
	fieldAnniversary
	fieldOtherDate
	fieldCadence
	fieldLastContact
	fieldAdded
	fieldKey
	// fieldRelation is what another person is to this one; the label is the relation.
	fieldRelation
	// fieldNote is kept in a note of the person, as fieldUnknown is; a person chose it.
	fieldNote
)

// identifies reports whether a column can identify a person.
func (m meaning) identifies() bool {
	switch m.field {
	case fieldFullName, fieldGivenName, fieldFamilyName, fieldEmail, fieldWebAddress, fieldProfile, fieldOrganization:
		return true
	}
	return m == meaning{fieldText, "nickname"}
}

// meaning is a field and the label that goes with it, such as "work".
type meaning struct {
	field field
	label string
}

// words are the known headers, in the form that normalHeader returns. They have no
// numbers: "E-mail 2 Address" is "e mail address".
type words map[string]meaning

func newWords() words {
	w := words{}
	for _, entry := range headerWords() {
		for header := range strings.SplitSeq(entry.headers, "|") {
			if !isASCII(header) {
				header = text.Fold(header)
			}
			w[header] = entry.meaning
		}
	}
	return w
}

// column is a column of a table.
type column struct {
	meaning

	header string
	// number groups columns: E-mail 1, E-mail 2.
	number string
	// labelAt is the column that holds the label; -1 for none.
	labelAt int
	// isLabel is set if the column holds the labels of another one, or says nothing of a person.
	isLabel bool
	// chosen is set if a person decided what it means.
	chosen bool
	// days says how its dates are read.
	days calendar
}

// name returns the header of the column at a position, or its number if it has none.
func (c column) name(at int) string {
	if strings.TrimSpace(c.header) == "" {
		return fmt.Sprintf("Column %d", at)
	}
	return c.header
}

// column returns the meaning of a header.
func (w words) column(header string) column {
	normal, number := normalHeader(header)
	return column{meaning: w[normal], header: header, number: number, labelAt: -1}
}

// normalHeader folds a header and removes its punctuation and its number.
func normalHeader(header string) (normal, number string) {
	const longest = 100
	header, _ = firstBytes(header, longest)
	var kept []string
	for _, word := range text.Words(header) {
		if _, err := strconv.Atoi(word); err == nil {
			number = word
		} else {
			kept = append(kept, word)
		}
	}
	if last := len(kept) - 1; last >= 0 && number == "" { // Email2
		if bare := strings.TrimRight(kept[last], "0123456789"); bare != "" && bare != kept[last] {
			kept[last], number = bare, kept[last][len(bare):]
		}
	}
	return strings.Join(kept, " "), number
}
