package index

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxWordBytes limits a word of a spaced script: longer words are cut, so that encoded
	// blobs in notes do not fill the vocabulary.
	maxWordBytes = 64
	// chunkRunes is the length of the pieces into which scripts that do not
	// separate words are cut; a piece starts at every letter.
	chunkRunes = 4
)

// scanner splits a text into words: runs of letters, digits and marks, in lower case. An apostrophe
// or ampersand between letters joins (O'Brien is obrien), a possessive 's is dropped, invisible
// format characters are ignored, and a change between spaced and unspaced scripts ends a word.
type scanner struct {
	text     string // NFC
	pos      int
	word     []byte // the current word, valid until next
	start    int    // where it starts in text
	unspaced bool   // it is of a script that does not separate words
	joints   []int  // offsets in word of removed joiners
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

// foldWord folds one lower-case word. The result of a non-empty word is never
// empty.
func foldWord(word string) string {
	if isASCII(word) {
		return word
	}
	if folded := text.Fold(word); folded != "" {
		return folded
	}
	return word
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// minSharedDigits is how many digits two phone numbers must share at their end
// when one is written with a country code and the other without.
const minSharedDigits = 7

// handles is the whole query read as each kind of identifier; "" for a kind that it cannot be.
type handles struct {
	email, phone, url, domain string
}

// parseHandles reads text, which is trimmed, as an identifier.
func parseHandles(text string) handles {
	h := handles{phone: phoneQuery(text)}
	if strings.IndexFunc(text, unicode.IsSpace) >= 0 {
		return h
	}
	if domain, ok := strings.CutPrefix(text, "@"); ok {
		h.domain = strings.ToLower(domain)
		return h
	}
	if email := normalizeEmail(text); strings.Contains(email, "@") {
		h.email = email
		return h
	}
	if strings.Contains(text, ".") {
		h.url = normalizeURL(text)
		if !strings.Contains(h.url, "/") {
			h.domain = h.url
		}
	}
	return h
}

// words returns the words of the query; of an address or a URL only those that the index has.
func (h handles) words(text string) string {
	switch {
	case h.email != "":
		local, domain := splitEmail(h.email)
		return local + " " + domainWords(domain)
	case strings.Contains(h.url, "/"):
		return urlWords(h.url)
	}
	return text
}

func normalizeEmail(raw string) string {
	email := strings.ToLower(strings.TrimSpace(raw))
	email = strings.TrimPrefix(email, "mailto:")
	return strings.Trim(email, "<>")
}

func splitEmail(email string) (local, domain string) {
	at := strings.LastIndexByte(email, '@')
	if at < 0 {
		return email, ""
	}
	return email[:at], email[at+1:]
}

// domainWords returns a domain without its last label, which carries no information.
func domainWords(domain string) string {
	if at := strings.LastIndexByte(domain, '.'); at >= 0 {
		return domain[:at]
	}
	return domain
}

// normalizeURL drops the scheme, www, a fragment and a closing slash.
func normalizeURL(raw string) string {
	url := strings.ToLower(strings.TrimSpace(raw))
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	url, _, _ = strings.Cut(url, "#")
	return strings.TrimRight(strings.TrimPrefix(url, "www."), "/")
}

// urlWords returns the part of a normalised URL that identifies a person: the last segment of the
// path (linkedin.com/in/maria-lopez), else the host.
func urlWords(url string) string {
	url, _, _ = strings.Cut(url, "?")
	if at := strings.LastIndexByte(url, '/'); at >= 0 {
		return url[at+1:]
	}
	return domainWords(url)
}

// normalizePhone keeps the digits, without the zeros that stand for a trunk or
// an international prefix.
func normalizePhone(raw string) string {
	digits := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, raw)
	return strings.TrimLeft(digits, "0")
}

// phoneQuery returns the digits of a text that can only be a number, else "".
func phoneQuery(text string) string {
	for _, r := range text {
		if (r < '0' || r > '9') && !strings.ContainsRune("+-.()/  ", r) {
			return ""
		}
	}
	digits := normalizePhone(text)
	if len(digits) < 3 {
		return ""
	}
	return digits
}

// phoneKey returns the last digits of a number, which are the same in all its spellings.
func phoneKey(digits string) string {
	return digits[max(0, len(digits)-minSharedDigits):]
}

// samePhone compares two normalised numbers; one may lack the country code.
func samePhone(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || len(b) >= minSharedDigits && strings.HasSuffix(a, b)
}

// vocabulary holds the words of a segment.
type vocabulary struct {
	terms []term // sorted by their folded form
	near  []signature
}

// term is a word with one list of documents for each kind of place it occurs in.
type term struct {
	folded, typed string
	lists         []list
}

type list struct {
	kind kind
	docs []uint32 // ascending
}

// newVocabulary sorts the terms and keeps the slice.
func newVocabulary(terms []term) vocabulary {
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.folded, b.folded), cmp.Compare(a.typed, b.typed))
	})
	return vocabulary{terms: terms, near: signatures(terms)}
}

// from returns the first term whose folded form is not below word.
func (v *vocabulary) from(word string) int {
	return sort.Search(len(v.terms), func(i int) bool { return v.terms[i].folded >= word })
}

// beginning iterates over the terms whose folded form begins with word.
func (v *vocabulary) beginning(word string) iter.Seq[*term] {
	return func(yield func(*term) bool) {
		for i := v.from(word); i < len(v.terms) && strings.HasPrefix(v.terms[i].folded, word); i++ {
			if !yield(&v.terms[i]) {
				return
			}
		}
	}
}

// equal iterates over the terms whose folded form is word.
func (v *vocabulary) equal(word string) iter.Seq[*term] {
	return func(yield func(*term) bool) {
		for i := v.from(word); i < len(v.terms) && v.terms[i].folded == word; i++ {
			if !yield(&v.terms[i]) {
				return
			}
		}
	}
}

// Estimates of the memory, in bytes, of a document number, a list of them, a term
// without its text, and a string without its text.
const (
	numberBytes = 4
	listBytes   = 40
	termBytes   = 72
	stringBytes = 16
)

func (v *vocabulary) bytes() int64 {
	n := 0
	for i := range v.terms {
		t := &v.terms[i]
		n += termBytes + len(t.typed)
		if t.folded != t.typed {
			n += len(t.folded)
		}
		for _, l := range t.lists {
			n += listBytes + numberBytes*len(l.docs)
		}
	}
	return int64(n)
}

const (
	minFuzzyRunes = 4  // shorter words must match as typed
	longRunes     = 8  // from this length two edits are allowed
	maxFuzzyRunes = 32 // longer words must match as typed
)

// editsFor returns how many edits are allowed in a word of the query.
func editsFor(word string, runes int) int {
	switch {
	case runes < minFuzzyRunes || runes > maxFuzzyRunes || strings.ContainsAny(word, "0123456789"):
		return 0
	case runes < longRunes:
		return 1
	}
	return 2
}

// signature has the letters and the length of a term. An edit sets at most one letter bit, clears
// at most one, and changes the length by at most one, so most terms are rejected without being
// read.
type signature struct {
	letters uint32
	term    uint32
	runes   uint8
}

func lettersOf(word string) (letters uint32, runes int) {
	for _, r := range word {
		letters |= 1 << (uint32(r) & 31)
		runes++
	}
	return letters, runes
}

// signatures are those of the terms that a misspelt word can match, the shortest first.
func signatures(terms []term) []signature {
	var out []signature
	for i := range terms {
		folded := terms[i].folded
		if !terms[i].tolerant() || strings.ContainsAny(folded, "0123456789") {
			continue
		}
		letters, runes := lettersOf(folded)
		if runes >= minFuzzyRunes-1 && runes <= maxFuzzyRunes+2 {
			out = append(out, signature{letters: letters, term: uint32(i), runes: uint8(runes)})
		}
	}
	slices.SortStableFunc(out, func(a, b signature) int { return cmp.Compare(a.runes, b.runes) })
	return out
}

// tolerant reports whether the term is in a field where misspelt words are looked for.
func (t *term) tolerant() bool {
	return slices.ContainsFunc(t.lists, func(l list) bool { return l.kind&inner == 0 && field(l.kind).tolerant() })
}

// misspelt iterates over the terms that are 1 to limit edits away from word, with the number of
// edits. Signatures reject most terms: a search of 100,000 distinct names takes 4 ms of processor
// time instead of 26 (the aim is 15).
func (v *vocabulary) misspelt(word string, limit int) iter.Seq2[*term, int] {
	letters, runes := lettersOf(word)
	x := []rune(word)
	return func(yield func(*term, int) bool) {
		first := sort.Search(len(v.near), func(i int) bool { return int(v.near[i].runes) >= runes-limit })
		for _, s := range v.near[first:] {
			if int(s.runes) > runes+limit {
				return
			}
			if bits.OnesCount32(letters&^s.letters) > limit || bits.OnesCount32(s.letters&^letters) > limit {
				continue
			}
			t := &v.terms[s.term]
			if d := text.Distance(x, t.folded, limit); d > 0 && d <= limit && !yield(t, d) {
				return
			}
		}
	}
}
