package source

import (
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Limits of a file.
const (
	// MaxBytes is the largest size of a file, packed or not.
	MaxBytes = 10 << 20
	// MaxRecords is how many people one file may hold.
	MaxRecords = 100_000
	// maxColumns is how many columns a table may have.
	maxColumns = 10_000
	// maxCell is how long a cell or the value of a property may be, in bytes.
	maxCell = 1 << 20
)

// Limits of a person, in characters: those of the contract (proto/kith).
const (
	maxName         = 200
	maxNickname     = 100
	maxOrganization = 200
	maxTitle        = 160
	maxLocation     = 120
	maxService      = 40
	maxHandle       = 200 // of an account
	maxStreet       = 300
	maxPlace        = 100 // a town or a region
	maxPostcode     = 40
	maxCountry      = 60
	maxAddress      = 600
	maxBio          = 2000
	maxMetHow       = 500
	maxNote         = 20_000
	maxTag          = 60
	maxGroup        = 80
	maxLabel        = 80
	maxEmail        = 254
	maxPhone        = 40
	maxURL          = 500
	maxKey          = 255
	maxCadence      = 730
)

// Limits of a person's lists.
const (
	maxGroups    = 50
	maxRelations = 200
	maxNotSame   = 200
)

// line returns s as one line of at most limit characters, and whether it was cut.
func line(s string, limit int) (string, bool) { return fit(s, limit, text.Line) }

// clean returns s as a text of at most limit characters, and whether it was cut.
func clean(s string, limit int) (string, bool) { return fit(s, limit, text.Clean) }

// fit cuts before it cleans, so that a megabyte of white space costs nothing, and cuts
// again afterwards.
func fit(s string, limit int, tidy func(string) string) (string, bool) {
	head, cut := firstBytes(strings.TrimSpace(s), limit*4*utf8.UTFMax)
	head = tidy(head)
	if !cut && utf8.RuneCountInString(head) <= limit {
		return head, false
	}
	return strings.TrimSpace(text.Truncate(head, limit-1)), true
}

// firstBytes returns at most n bytes of s, in whole characters.
func firstBytes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], true
}

// pieces cuts a text into pieces of at most limit characters.
func pieces(s string, limit int) []string {
	var out []string
	for s != "" {
		end, count := len(s), 0
		for i := range s {
			if count == limit {
				end = i
				break
			}
			count++
		}
		if piece := text.Clean(s[:end]); text.Visible(piece) {
			out = append(out, piece)
		}
		s = s[end:]
	}
	return out
}

// shown returns a value in the form for warnings: short, and on one line.
func shown(s string) string {
	head, _ := firstBytes(s, 400)
	return text.Truncate(text.Line(head), 60)
}

// list joins words for a sentence.
func list(words []string) string {
	const most = 12
	if len(words) > most {
		return strings.Join(words[:most], ", ") + ", …"
	}
	return strings.Join(words, ", ")
}
