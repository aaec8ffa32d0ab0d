package source

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
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
// one; UTF-8 if data is valid UTF-8; a confident guess; Windows-1252.
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
	set, ok := guess(data)
	if !ok {
		set = windows1252()
	}
	set.warning = fmt.Sprintf("The file does not say which character set it is in and was read as %s. If names look wrong, import it again with another charset.", set.name)
	return set, nil
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
