package source

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// sure is the share of words that must look right in a character set.
const sure = .9

// candidate is a character set and the look of its words. The order of candidates matters:
// the first one that fits is used.
type candidate struct {
	name     string
	encoding encoding.Encoding
	// looksRight reports whether a word with letters beyond ASCII looks right.
	looksRight func(word []rune) bool
	// plausible checks the whole text; nil accepts every text.
	plausible func(text []byte) bool
}

func candidates() []candidate {
	return []candidate{
		{"windows-1250", charmap.Windows1250, always, polish},
		{"windows-1254", charmap.Windows1254, always, turkish},
		{"windows-1251", charmap.Windows1251, cased(unicode.Cyrillic), nil},
		{"koi8-r", charmap.KOI8R, cased(unicode.Cyrillic), nil},
		{"windows-1253", charmap.Windows1253, cased(unicode.Greek), nil},
		{"windows-1255", charmap.Windows1255, in(unicode.Hebrew), nil},
		{"windows-1256", charmap.Windows1256, in(unicode.Arabic), nil},
		{"windows-874", charmap.Windows874, in(unicode.Thai), nil},
		{"euc-kr", korean.EUCKR, in(unicode.Hangul), nil},
		{"euc-jp", japanese.EUCJP, in(unicode.Han, unicode.Hiragana, unicode.Katakana), japaneseLeads},
		{"shift_jis", japanese.ShiftJIS, in(unicode.Han, unicode.Hiragana, unicode.Katakana), shiftLeads},
		{"big5", traditionalchinese.Big5, in(unicode.Han), bigFiveLeads},
		{"gb18030", simplifiedchinese.GB18030, in(unicode.Han), nationalLeads},
	}
}

// guess finds the character set of a text that is not UTF-8, by the look of its words: in
// the wrong set they mix scripts, upper and lower case, or letters and signs. It does not
// distinguish Western European sets, which have too much in common with Windows-1252.
func guess(data []byte) (charset, bool) {
	sample := linesBeyondASCII(data)
	for _, c := range candidates() {
		if c.plausible != nil && !c.plausible(sample) {
			continue
		}
		text, err := c.encoding.NewDecoder().Bytes(sample)
		if err == nil && c.fits(text) {
			return charset{name: c.name, encoding: c.encoding, asciiBased: true}, true
		}
	}
	return charset{}, false
}

// linesBeyondASCII returns the first lines with characters beyond ASCII.
func linesBeyondASCII(data []byte) []byte {
	const enough = 64 << 10
	var out []byte
	for len(data) > 0 && len(out) < enough {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		line := data[:min(end, enough)]
		if !isASCII(line) {
			out = append(out, line...)
		}
		data = data[end:]
	}
	return out
}

// fits reports whether nearly all words beyond ASCII look right.
func (c candidate) fits(text []byte) bool {
	words, right, titled := 0, 0, 0
	for _, word := range bytes.FieldsFunc(text, isBetween) {
		if isASCII(word) {
			continue
		}
		runes := []rune(string(word))
		words++
		if c.looksRight(runes) {
			right++
			if isTitled(runes) {
				titled++
			}
		}
	}
	// Names have capitals, in the scripts that know them; text in a script that does
	// not may look like one in lower case alone.
	return words > 0 && float64(right) >= sure*float64(words) && titled*5 >= words
}

// isTitled reports whether a word is a capital followed by small letters, or is in a
// script without capitals.
func isTitled(word []rune) bool {
	last := word[len(word)-1]
	return !unicode.IsLower(word[0]) && !unicode.IsUpper(last)
}

// isBetween reports whether a byte is ASCII but not a letter, or a sign that every set
// has.
func isBetween(r rune) bool {
	return r < utf8.RuneSelf && !unicode.IsLetter(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Pi, unicode.Pf, unicode.Pd) || r == '…' || r == '№' || r == '、' || r == '。' || r == '・'
}

func always([]rune) bool { return true }

// in returns a test for words of some scripts.
func in(tables ...*unicode.RangeTable) func([]rune) bool {
	return func(word []rune) bool {
		for _, r := range word {
			if !unicode.In(r, tables...) && r != 'ー' && !unicode.Is(unicode.Mn, r) {
				return false
			}
		}
		return true
	}
}

// cased returns a test for words of a script that has capitals: all of them, none,
// or the first letter only.
func cased(table *unicode.RangeTable) func([]rune) bool {
	return func(word []rune) bool {
		upper := 0
		for i, r := range word {
			switch {
			case !unicode.Is(table, r) || !unicode.IsLetter(r):
				return false
			case unicode.IsUpper(r):
				upper++
				if upper != i+1 && i > 0 {
					return false
				}
			}
		}
		return upper <= 1 || upper == len(word)
	}
}

// polish reports letters of Windows-1250 that are signs in Windows-1252 and occur within
// words: ł, ą, ż, ź, ś and the like.
func polish(text []byte) bool {
	return between(text, "\xa3\xa5\xaf\xb3\xb9\xbf\xbe\xbc") >= 2
}

// turkish reports ş and Ş, which are þ and Þ in Windows-1252 and begin words there.
func turkish(text []byte) bool {
	inWord := 0
	for i := 1; i < len(text); i++ {
		if (text[i] == 0xfe || text[i] == 0xde) && isLetterByte(text[i-1]) && text[i-1] < 0x80 {
			inWord++
		}
	}
	return inWord >= 2 && latin(text)
}

// between counts signs with a letter of ASCII on one side at least and no space or
// digit on the other.
func between(text []byte, signs string) int {
	if !latin(text) {
		return 0
	}
	count := 0
	for i := range text {
		if bytes.IndexByte([]byte(signs), text[i]) < 0 {
			continue
		}
		before, after := i > 0 && isLetterByte(text[i-1]), i+1 < len(text) && isLetterByte(text[i+1])
		if before && (after || text[i] > 0xb0) || after && (text[i] == 0xa3 || text[i] == 0xaf) {
			count++
		}
	}
	return count
}

func isLetterByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0xc0 }

// latin reports whether most letters beyond ASCII are next to ASCII letters.
func latin(text []byte) bool {
	beside, all := 0, 0
	for i, b := range text {
		if b < 0x80 {
			continue
		}
		all++
		if i > 0 && isAlphanumeric(text[i-1]) || i+1 < len(text) && isAlphanumeric(text[i+1]) {
			beside++
		}
	}
	return beside*10 >= all*8
}

// pairs calls see with the two bytes of each character beyond ASCII of a set whose
// second bytes may be ASCII or not.
func pairs(text []byte, see func(lead, trail byte)) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] >= 0x80 {
			see(text[i], text[i+1])
			i++
		}
	}
}

// share reports whether at least nine of ten characters pass a test.
func share(text []byte, test func(lead, trail byte) bool) bool {
	all, good := 0, 0
	pairs(text, func(lead, trail byte) {
		all++
		if test(lead, trail) {
			good++
		}
	})
	return all > 0 && float64(good) >= sure*float64(all)
}

// japaneseLeads distinguishes EUC-JP from EUC-KR and GB 2312, which use the same bytes:
// kana are common in EUC-JP.
func japaneseLeads(text []byte) bool {
	all, kana := 0, 0
	pairs(text, func(lead, trail byte) {
		all++
		if lead == 0xa4 || lead == 0xa5 {
			kana++
		}
	})
	return kana*10 >= all && share(text, func(lead, trail byte) bool { return lead >= 0xa1 && lead <= 0xf4 && trail >= 0xa1 })
}

// shiftLeads reports the kana and the common kanji of Shift_JIS.
func shiftLeads(text []byte) bool {
	return share(text, func(lead, trail byte) bool {
		return (lead >= 0x81 && lead <= 0x9f || lead >= 0xe0 && lead <= 0xea) && trail >= 0x40
	})
}

// bigFiveLeads reports the common characters of Big5, some of whose second bytes are
// ASCII.
func bigFiveLeads(text []byte) bool {
	ascii := false
	pairs(text, func(lead, trail byte) { ascii = ascii || trail < 0x80 })
	return ascii && share(text, func(lead, trail byte) bool { return lead >= 0xa4 && lead <= 0xc6 && trail >= 0x40 })
}

// nationalLeads reports the common characters of GB 2312.
func nationalLeads(text []byte) bool {
	return share(text, func(lead, trail byte) bool { return lead >= 0xb0 && lead <= 0xd7 && trail >= 0xa1 })
}
