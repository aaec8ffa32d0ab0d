package index

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxWordBytes bounds a word of a spaced script: what is longer is cut, so
	// that encoded blobs in notes do not fill the vocabulary.
	maxWordBytes = 64
	// chunkRunes is the length of the pieces into which scripts that do not
	// separate words are cut; a piece starts at every letter.
	chunkRunes = 4
)

// scanner splits a text into words: runs of letters, digits and marks, in lower
// case. An apostrophe or ampersand between letters joins (O'Brien is obrien),
// a possessive 's falls away, invisible format characters are ignored, and a
// change between spaced and unspaced scripts ends a word.
type scanner struct {
	text     string // NFC
	pos      int
	word     []byte // the current word, valid until next
	start    int    // where it starts in text
	unspaced bool   // it is of a script that does not separate words
	joints   []int  // offsets in word where a joiner stood
}

func (s *scanner) reset(text string) {
	if !isASCII(text) {
		text = norm.NFC.String(text)
	}
	s.text, s.pos = text, 0
}

// next finds the next word and reports whether there is one.
func (s *scanner) next() bool {
	s.word, s.joints = s.word[:0], s.joints[:0]
	for s.pos < len(s.text) {
		r, size := s.peek(s.pos)
		switch {
		case s.belongs(r):
			if len(s.word) == 0 {
				s.start, s.unspaced = s.pos, isUnspaced(r)
			} else if isUnspaced(r) != s.unspaced && !unicode.IsMark(r) {
				return s.finish()
			}
			s.append(r)
		case len(s.word) == 0 || isFormat(r):
		case isJoiner(r) && s.letterAt(s.pos+size):
			s.joints = append(s.joints, len(s.word))
		default:
			return s.finish()
		}
		s.pos += size
	}
	return s.finish()
}

func (s *scanner) peek(at int) (rune, int) {
	if c := s.text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.text[at:])
}

// belongs reports whether r is part of a word here; a mark cannot begin one.
func (s *scanner) belongs(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	if isJoiner(r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || len(s.word) > 0 && unicode.IsMark(r)
}

func (s *scanner) append(r rune) {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	} else if r >= utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	if s.unspaced || len(s.word)+utf8.RuneLen(r) <= maxWordBytes {
		s.word = utf8.AppendRune(s.word, r)
	}
}

func (s *scanner) letterAt(at int) bool {
	if at >= len(s.text) {
		return false
	}
	r, _ := s.peek(at)
	return unicode.IsLetter(r) && !isJoiner(r)
}

// finish drops a possessive s and reports whether a word was found.
func (s *scanner) finish() bool {
	if n := len(s.joints); n > 0 {
		last := s.joints[n-1]
		if string(s.word[last:]) == "s" && last > 0 {
			s.word, s.joints = s.word[:last], s.joints[:n-1]
		}
	}
	return len(s.word) > 0
}

// nameKey returns the folded words of a name, joined by one space.
func (s *scanner) nameKey(name string) string {
	var key []byte
	s.reset(name)
	for s.next() {
		if len(key) > 0 {
			key = append(key, ' ')
		}
		key = append(key, s.word...)
	}
	return foldWord(string(key))
}

// parts calls do with the pieces of a joined word: o and brien.
func (s *scanner) parts(do func(part []byte)) {
	from := 0
	for _, at := range s.joints {
		if at > from {
			do(s.word[from:at])
		}
		from = at
	}
	if from > 0 && from < len(s.word) {
		do(s.word[from:])
	}
}

// chunks calls do with the pieces of an unspaced word, one from every letter;
// whole is true for the piece that is the word itself.
func chunks(word []byte, do func(piece []byte, whole bool)) {
	for from := 0; from < len(word); {
		to := chunkEnd(word, from)
		do(word[from:to], from == 0 && to == len(word))
		_, size := utf8.DecodeRune(word[from:])
		from += size
	}
}

func chunkEnd(word []byte, from int) int {
	for range chunkRunes {
		_, size := utf8.DecodeRune(word[from:])
		from += size
	}
	return from
}

func isFormat(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.Cf, r) }

func isJoiner(r rune) bool {
	switch r {
	case '\'', '&', '`', '´', '‘', '’', 'ʼ', 'ʻ', '＇':
		return true
	}
	return false
}

// isUnspaced reports whether r is of a script written without spaces between
// words, or (Hangul) with names that are searched by their parts.
func isUnspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, // Thai, Lao
		0x1000 <= r && r <= 0x11FF, // Myanmar, Hangul letters
		0x1780 <= r && r <= 0x17FF, // Khmer
		0x3005 <= r && r <= 0x318F, // Kana, Hangul letters, iteration marks
		0x31F0 <= r && r <= 0x31FF, // Kana extensions
		0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF,
		0xAC00 <= r && r <= 0xD7FF, // Hangul syllables
		0xF900 <= r && r <= 0xFAFF,
		0xFF66 <= r && r <= 0xFF9F, // half-width Kana
		0x20000 <= r && r <= 0x3FFFF:
		return true
	}
	return false
}
