package contacts

import (
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Avatar stands for a person's picture: initials in a colour that stays the same.
type Avatar struct {
	Initials string
	// Tone is the number of the colour, of tones.
	Tone uint32
}

// tones is the number of colours that the stylesheet has.
const tones = 8

func avatarOf(id, name string) Avatar {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
	a := Avatar{Tone: h.Sum32() % tones}
	if len(words) > 0 {
		a.Initials = initial(words[0])
	}
	if len(words) > 1 {
		a.Initials += initial(words[len(words)-1])
	}
	return a
}

func initial(word string) string {
	first, _ := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first))
}
