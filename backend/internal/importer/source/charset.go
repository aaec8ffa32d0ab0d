package source

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	stdunicode "unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// charset is the character set of a file, and how certain it is.
type charset struct {
	name string
	// encoding is nil for UTF-8.
	encoding encoding.Encoding
	// skip is the length of the byte order mark.
	skip int
	// asciiBased reports whether ASCII characters have their usual bytes, so that formats
	// can be detected and cards can be read before decoding.
	asciiBased bool
	// forced reports whether the caller named it.
	forced bool
	// warning is for members who see wrong letters.
	warning string
}

func utf8Charset() charset { return charset{name: "utf-8", asciiBased: true} }

func windows1252() charset {
	return charset{name: "windows-1252", encoding: charmap.Windows1252, asciiBased: true}
}

// findCharset finds the character set of data. In this order: a byte order mark; the named
// one; UTF-8 if data is valid UTF-8; a guess; Windows-1252.
func findCharset(data []byte, name string) (charset, error) {
	marked, hasMark := byMark(data)
	named, err := byName(name)
	switch {
	case err != nil:
		return charset{}, err
	case hasMark:
		if name != "" && named.name != marked.name {
			marked.warning = fmt.Sprintf("The file begins with the mark of %s and was read so, not as %s.", marked.name, named.name)
		}
		return marked, nil
	case name != "":
		return named, nil
	}
	if wide, ok := byZeros(data); ok {
		return wide, nil
	}
	if bytes.Contains(data, []byte("\x1b$B")) || bytes.Contains(data, []byte("\x1b$@")) {
		return charset{name: "iso-2022-jp", encoding: japanese.ISO2022JP}, nil
	}
	if utf8.Valid(data) {
		return utf8Charset(), nil
	}
	if broken, ok := nearlyUTF8(data); ok {
		set := utf8Charset()
		set.warning = fmt.Sprintf("Bytes of the file that are not UTF-8 were left out: %d.", broken)
		return set, nil
	}
	set := guess(data)
	set.warning = fmt.Sprintf("The file does not say which character set it is in and was read as %s. If names look wrong, import it again with another charset.", set.name)
	return set, nil
}

// UTF8 returns a text as UTF-8, from the character set in which Open would read it. Bytes that are not valid there are left out.
func UTF8(data []byte) string {
	if set, err := findCharset(data, ""); err == nil { // it fails for a named set alone
		data = set.decode(data)
	}
	return string(bytes.ToValidUTF8(data, nil))
}

// byMark finds a byte order mark.
func byMark(data []byte) (charset, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		set := utf8Charset()
		set.skip = 3
		return set, true
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return utf16(unicode.LittleEndian, 2), true
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return utf16(unicode.BigEndian, 2), true
	}
	return charset{}, false
}

func utf16(order unicode.Endianness, skip int) charset {
	name := map[unicode.Endianness]string{unicode.LittleEndian: "utf-16le", unicode.BigEndian: "utf-16be"}[order]
	return charset{name: name, encoding: unicode.UTF16(order, unicode.IgnoreBOM), skip: skip}
}

// byName finds a character set by a label of the Encoding Standard; for an empty label it
// finds nothing.
func byName(name string) (charset, error) {
	if name == "" {
		return charset{}, nil
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return charset{}, unknownCharset(name)
	}
	canonical, err := htmlindex.Name(found)
	switch {
	case err != nil || canonical == "replacement" || canonical == "x-user-defined":
		return charset{}, unknownCharset(name)
	case canonical == "utf-8":
		set := utf8Charset()
		set.forced = true
		return set, nil
	}
	wide := canonical == "utf-16le" || canonical == "utf-16be" || canonical == "iso-2022-jp"
	return charset{name: canonical, encoding: found, asciiBased: !wide, forced: true}, nil
}

func unknownCharset(name string) error {
	return fault.InvalidField("charset", "%q is no known character set; use a name such as utf-8, windows-1252 or shift_jis", shown(name))
}

// byZeros finds UTF-16 without a mark: every other byte of western text is zero.
func byZeros(data []byte) (charset, bool) {
	const enough = 4096
	head := data[:min(len(data), enough)&^1]
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i&1]++
		}
	}
	many, few := len(head)/5, len(head)/50
	switch {
	case len(head) < 8:
	case zeros[1] > many && zeros[0] <= few:
		return utf16(unicode.LittleEndian, 0), true
	case zeros[0] > many && zeros[1] <= few:
		return utf16(unicode.BigEndian, 0), true
	}
	return charset{}, false
}

// nearlyUTF8 reports whether a file is damaged UTF-8 rather than another character set:
// valid multi-byte letters far outnumber the invalid bytes.
func nearlyUTF8(data []byte) (broken int, ok bool) {
	letters := 0
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			broken++
		} else {
			letters++
		}
		data = data[size:]
	}
	const by = 10
	return broken, letters >= by*broken
}

// guess returns the character set of a text that is not UTF-8; Windows-1252 if nothing says that it is
// another one. chardet recognises the sets of other scripts and languages than these three.
func guess(data []byte) charset {
	sample := linesBeyondASCII(data)
	switch {
	case isPolish(sample):
		return charset{name: "windows-1250", encoding: charmap.Windows1250, asciiBased: true}
	case isTurkish(sample):
		return charset{name: "windows-1254", encoding: charmap.Windows1254, asciiBased: true}
	}
	const sure = .5 // it is surer of Western European sets, which have too much in common
	found := chardet.Detect(sample)
	name := map[string]string{
		"Windows-1251": "windows-1251", "KOI8-R": "koi8-r", "ISO-8859-7": "windows-1253", "Windows-1253": "windows-1253", "Windows-1255": "windows-1255",
		"TIS-620": "windows-874", "EUC-KR": "euc-kr", "EUC-JP": "euc-jp", "SHIFT_JIS": "shift_jis", "Big5": "big5", "GB2312": "gb18030", "GB18030": "gb18030",
	}[found.Encoding]
	if set, err := byName(name); name != "" && found.Confidence >= sure && err == nil {
		set.forced = false
		return set
	}
	if arabic, err := charmap.Windows1256.NewDecoder().Bytes(sample); err == nil && isArabic(arabic) {
		return charset{name: "windows-1256", encoding: charmap.Windows1256, asciiBased: true}
	}
	return windows1252()
}

// linesBeyondASCII returns the first lines with characters beyond ASCII.
func linesBeyondASCII(data []byte) []byte {
	const enough = 8 << 10
	var out []byte
	for line := range bytes.Lines(data) {
		if line = line[:min(len(line), enough)]; !isASCII(line) {
			out = append(out, line...)
		}
		if len(out) >= enough {
			break
		}
	}
	return out
}

// isPolish reports whether a text has letters of Windows-1250 that are signs in Windows-1252 and occur
// within words: ł, ą, ż, ź, ś and the like.
func isPolish(text []byte) bool {
	inWord := 0
	for i, b := range text {
		if strings.IndexByte("\xa3\xa5\xaf\xb3\xb9\xbf\xbe\xbc", b) < 0 {
			continue
		}
		before, after := i > 0 && isLetterByte(text[i-1]), i+1 < len(text) && isLetterByte(text[i+1])
		if before && (after || b > 0xb0) || after && (b == 0xa3 || b == 0xaf) {
			inWord++
		}
	}
	return inWord >= 2 && isLatin(text)
}

// isTurkish reports whether a text has ş and Ş, which are þ and Þ in Windows-1252 and begin words there.
func isTurkish(text []byte) bool {
	inWord := 0
	for i := 1; i < len(text); i++ {
		if (text[i] == 0xfe || text[i] == 0xde) && isLetterByte(text[i-1]) && text[i-1] < utf8.RuneSelf {
			inWord++
		}
	}
	return inWord >= 2 && isLatin(text)
}

func isLetterByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0xc0 }

// isLatin reports whether most letters beyond ASCII are next to ASCII letters.
func isLatin(text []byte) bool {
	beside, all := 0, 0
	for i, b := range text {
		if b < utf8.RuneSelf {
			continue
		}
		all++
		if i > 0 && isAlphanumeric(text[i-1]) || i+1 < len(text) && isAlphanumeric(text[i+1]) {
			beside++
		}
	}
	return beside*10 >= all*8
}

// isArabic reports whether nearly all words beyond ASCII are Arabic letters.
func isArabic(text []byte) bool {
	words, arabic := 0, 0
	for _, word := range bytes.FieldsFunc(text, func(r rune) bool { return !stdunicode.IsLetter(r) && !stdunicode.IsMark(r) }) {
		if isASCII(word) {
			continue
		}
		words++
		if !bytes.ContainsFunc(word, func(r rune) bool { return !stdunicode.In(r, stdunicode.Arabic, stdunicode.Mn) }) {
			arabic++
		}
	}
	return words > 0 && arabic*10 >= words*9
}

// decode returns data as UTF-8, without the mark. It counts the length first, so it
// allocates no more than that.
func (c charset) decode(data []byte) []byte {
	data = data[c.skip:]
	if c.encoding == nil {
		return data
	}
	n, _ := io.Copy(io.Discard, c.encoding.NewDecoder().Reader(bytes.NewReader(data)))
	out := make([]byte, n)
	read, _ := io.ReadFull(c.encoding.NewDecoder().Reader(bytes.NewReader(data)), out)
	return out[:read]
}

// value returns a value of a card, which may name its own character set, and whether its
// set had to be guessed although the set of the file did not.
func (c charset) value(b []byte, name string) (value string, guessed bool) {
	if isASCII(b) {
		return string(b), false
	}
	set := c
	if named, err := byName(name); err == nil && name != "" {
		set = named
	}
	if set.encoding == nil || !set.forced {
		if utf8.Valid(b) {
			return string(b), false
		}
		if _, ok := nearlyUTF8(b); ok && set.name == "utf-8" && name != "" { // a declared set counts for more than a damaged letter
			return string(bytes.ToValidUTF8(b, nil)), false
		}
		set = c.fallback()
		guessed = c.encoding == nil
	}
	return string(set.decode(b)), guessed
}

// fallback is the character set of texts that are not in UTF-8.
func (c charset) fallback() charset {
	if c.encoding == nil {
		return windows1252()
	}
	c.skip = 0
	return c
}
