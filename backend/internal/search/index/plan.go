package index

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The orders of [Query.Sort]. An unknown one means relevance.
const (
	SortRelevance   = "relevance"    // see the package comment
	SortName        = "name"         // folded name
	SortFamilyName  = "family_name"  // folded family name, as far as it is known
	SortLastContact = "last_contact" // the most recent first
	SortCreated     = "created"      // the most recently created first
	SortStrength    = "strength"     // the strongest tie first
	SortNextDue     = "next_due"     // the next day of a keep-in-touch interval, the soonest first
	SortField       = "field"        // the value of the custom field Query.SortField, the smallest first
)

// Query says what to look for. Every filter that is set must hold.
type Query struct {
	// Text is read up to 256 characters and 16 words. All words must be found, except
	// "at", "in", "of" and the like when there are others. Empty text finds every
	// document that passes the filters, with score 0.
	Text string
	// Company, Title and Location must be contained in the value, ignoring case and
	// accents. Company matches past organisations too.
	Company, Title, Location string
	// Country is a name or an ISO 3166 code; see package country.
	Country string
	// Tags, all of them, and Group must equal one of the names, ignoring case.
	Tags  []string
	Group string
	// Has lists what a person must have, Missing what they must not have: email, phone, url, address, note,
	// interaction, birthday, location, organization, title, tag, group, cadence, met_how. With an unknown
	// word no document passes.
	Has, Missing []string
	// MetHow is words that must be, or begin a word, in how they met.
	MetHow string
	// MetOnAfter and MetOnBefore are partial dates between which they met. A partial date of a
	// document passes if one of its days does.
	MetOnAfter, MetOnBefore string
	// LastContactAfter is inclusive, LastContactBefore is not. A person without a contact passes
	// only the latter. Zero is off.
	LastContactAfter, LastContactBefore time.Time
	// NeverContacted, Starred and CadenceOverdue must have this value; nil is off.
	NeverContacted, Starred, CadenceOverdue *bool
	// BirthdayFrom and BirthdayTo are days of the year, month * 100 + day, both
	// inclusive; they span New Year when the first is the later one. 0 is off.
	BirthdayFrom, BirthdayTo int
	// CreatedAfter is inclusive; zero is off.
	CreatedAfter time.Time
	// Born is when they were born, JobStarted and JobEnded when one of their jobs started or ended; a zero range leaves nobody out.
	Born, JobStarted, JobEnded DateRange
	// OnlyBy are kinds of interactions: all that they have, at least one, must be of these kinds.
	OnlyBy []string
	// MetThrough finds those whom a person introduced; nil is off.
	MetThrough *Introducer
	// Fields are conditions on custom fields.
	Fields []FieldFilter
	// Archived finds archived people instead of all others.
	Archived bool
	// Sort is one of the Sort constants; Reverse reverses it. Documents without a value
	// for the order come last in both directions.
	Sort    string
	Reverse bool
	// SortField is the folded name of the field for SortField; SortNumber compares its values as numbers.
	SortField  string
	SortNumber bool
	// MinScore is the lowest score of a hit; if it is set, misspelt matches are included. If not,
	// they are left out when a match as spelt is strong, or when the order is not by relevance and
	// any match is as spelt.
	MinScore *float64
	// Now and the name of the member's time Zone say what today is.
	Now  time.Time `json:"-"`
	Zone string    `json:"-"`
	// Offset skips hits; below 0 it is 0. Limit is how many to return; below 1 it is 10.
	// Concatenated pages are the full list.
	Offset, Limit int
}

// Hit is one found document.
type Hit struct {
	ID  string
	Doc *Document // shared with the index: read only
	// Score is 0 to 1 in thousandths. It never increases from one hit to the next in the relevance
	// order.
	Score float64
	// Matched names the field in which each word of the query was found best,
	// without repetition: name, nickname, email, phone, url, domain,
	// organization, title, headline, location, tag, group, bio, met_how, note,
	// interaction.
	Matched []string
	// Snippet is the text around a match in the bio, in how they met, in a note or
	// in an interaction, at most 160 characters on one line; "" when the match was
	// elsewhere.
	Snippet string
}

// Result is one page of hits.
type Result struct {
	Hits []Hit
	// Total is the number of matches. There are more pages exactly when it
	// exceeds Offset plus Limit.
	Total int
	// ByIdentifier means that the query is an e-mail address, a phone number or a URL
	// of a document.
	ByIdentifier bool
	// Sum is a checksum over the ids of all that Total counts, in any order.
	Sum uint64
}

const (
	maxQueryRunes  = 256
	maxQueryTokens = 16
	defaultLimit   = 10
	maxWindow      = 1 << 30 // bound on offset and limit, so that sums fit
)

// plan is a query prepared for segments.
type plan struct {
	all            bool // no text: every document
	tokens         []token
	nameKey        string // all words, as in ranked.key
	chunked        bool   // an unspaced word was cut into several tokens
	handles        handles
	filter         filter
	sort           string
	sortField      string
	sortNumber     bool
	reverse        bool
	minScore       int  // in thousandths
	guesses        bool // return misspelt matches beside strong ones
	zone           *time.Location
	offset, window int // skip offset, stop at window
}

// token is one word of the query.
type token struct {
	typed, folded string
	runes         int
	unspaced      bool
	edits         int      // how many edits are allowed
	aliases       []string // other forms of a given name, folded
	joined        []string // the word joined with its neighbours, folded: mccoy of mc and of coy
	forms         []string // of [Words]: singular and plural, folded
}

// stopWords are left out of a query that has other words.
var stopWords = map[string]bool{
	"and": true, "at": true, "for": true, "from": true, "in": true, "is": true,
	"of": true, "the": true, "who": true, "with": true,
}

func newPlan(q *Query) plan {
	p := plan{filter: newFilter(q), sort: q.Sort, sortField: q.SortField, sortNumber: q.SortNumber, reverse: q.Reverse, zone: civil.Zone(q.Zone)}
	if q.MinScore != nil {
		p.guesses, p.minScore = true, int(math.Ceil(*q.MinScore*topScore))
	}
	p.offset = min(max(q.Offset, 0), maxWindow)
	limit := q.Limit
	if limit < 1 {
		limit = defaultLimit
	}
	p.window = p.offset + min(limit, maxWindow)

	text := strings.TrimSpace(firstRunes(q.Text, maxQueryRunes))
	if text == "" {
		p.all = true
		return p
	}
	p.handles = parseHandles(text)
	p.readWords(p.handles.words(text))
	return p
}

// readWords splits the text into tokens and the key of a full name.
func (p *plan) readWords(text string) {
	var scan scanner
	var key []byte
	scan.reset(text)
	for scan.next() {
		if len(key) > 0 {
			key = append(key, ' ')
		}
		key = append(key, scan.word...)
		p.addWord(scan.word, scan.unspaced)
	}
	p.nameKey = foldWord(string(key))
	p.joinWords(strings.Fields(p.nameKey))
	p.dropStopWords()
	p.tokens = p.tokens[:min(len(p.tokens), maxQueryTokens)]
}

// joinWords gives each token the words that it makes with its neighbours.
func (p *plan) joinWords(words []string) {
	for from := range words[:min(len(words), maxQueryTokens)] {
		for to := from + 2; to <= min(from+names.MaxRun, len(words)); to++ {
			run := words[from:to]
			for i := range p.tokens {
				if t := &p.tokens[i]; slices.Contains(run, t.folded) {
					t.joined = append(t.joined, strings.Join(run, ""))
				}
			}
		}
	}
}

func (p *plan) addWord(word []byte, unspaced bool) {
	if !unspaced {
		p.addToken(string(word), false)
		return
	}
	for from := 0; from < len(word); {
		to := chunkEnd(word, from)
		p.chunked = p.chunked || to < len(word)
		p.addToken(string(word[from:to]), true)
		from = to
	}
}

func (p *plan) addToken(typed string, unspaced bool) {
	for i := range p.tokens {
		if p.tokens[i].typed == typed {
			return
		}
	}
	t := token{typed: typed, folded: foldWord(typed), unspaced: unspaced}
	t.runes = utf8.RuneCountInString(t.folded)
	t.aliases = names.Nicknames(t.folded)
	if !unspaced {
		t.edits = editsFor(t.folded, t.runes)
	}
	p.tokens = append(p.tokens, t)
}

func (p *plan) dropStopWords() {
	kept := make([]token, 0, len(p.tokens))
	for _, t := range p.tokens {
		if !stopWords[t.typed] {
			kept = append(kept, t)
		}
	}
	if len(kept) > 0 {
		p.tokens = kept
	}
}

// closenessTo returns how a term that begins with the token matches it.
func (t *token) closenessTo(m *term) closeness {
	switch {
	case len(m.folded) == len(t.folded):
		if m.typed == t.typed {
			return exact
		}
		return folded
	case strings.HasPrefix(m.typed, t.typed):
		return prefix
	}
	return foldedPrefix
}

// reaches reports whether a match of closeness c counts in field f. Fields with many words require
// more letters and the exact spelling.
func (t *token) reaches(c closeness, f field) bool {
	switch c {
	case prefix, foldedPrefix:
		return !f.wordy() || t.unspaced || t.runes >= minWordyPrefix
	case oneEdit, twoEdits:
		return f.tolerant()
	}
	return true
}

func firstRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// filter is the part of a query that selects documents without scoring them.
type filter struct {
	contained    [valueKinds]string   // company, title, location: folded
	equal        [valueKinds][]string // country, tags, group: folded
	has, missing []presence
	metHow       []token
	overdue      *bool // whether overdue for a contact today, and not snoozed
	zone         *time.Location
	today        time.Time
	conditions   []func(*Document) bool // has conditions that need each document to be read
	archived     bool
	none         bool // no document can pass
	active       bool
}

func newFilter(q *Query) filter {
	f := filter{archived: q.Archived}
	f.contained[valueCompany] = text.Fold(q.Company)
	f.contained[valueTitle] = text.Fold(q.Title)
	f.contained[valueLocation] = text.Fold(q.Location)
	for _, tag := range q.Tags {
		f.equal[valueTag] = append(f.equal[valueTag], text.Fold(tag))
	}
	if q.Group != "" {
		f.equal[valueGroup] = []string{text.Fold(q.Group)}
	}
	if q.Country != "" {
		code := country.Named(q.Country)
		f.equal[valueCountry], f.none = []string{code}, code == ""
	}
	f.has, f.missing = f.presences(q.Has), f.presences(q.Missing)
	f.require(q.Starred, isStarred, true)
	f.require(q.NeverContacted, isContacted, false)
	if q.MetHow != "" {
		words := plan{}
		words.readWords(q.MetHow)
		f.metHow, f.none = words.tokens, f.none || len(words.tokens) == 0
	}
	if f.overdue = q.CadenceOverdue; f.overdue != nil {
		f.zone = civil.Zone(q.Zone)
		f.today = civil.Of(q.Now, f.zone)
	}
	f.conditions = q.conditions()
	f.active = f.none || f.overdue != nil || len(f.has)+len(f.missing)+len(f.metHow)+len(f.conditions) > 0
	for k := range valueKinds {
		f.active = f.active || f.contained[k] != "" || len(f.equal[k]) > 0
	}
	return f
}

// require adds a condition on a presence, unless asked is nil: if asked is equal to wanted, it must
// be there, otherwise it must be missing.
func (f *filter) require(asked *bool, p presence, wanted bool) {
	switch {
	case asked == nil:
	case *asked == wanted:
		f.has = append(f.has, p)
	default:
		f.missing = append(f.missing, p)
	}
}

func (f *filter) presences(names []string) []presence {
	var out []presence
	for _, name := range names {
		p, ok := presenceNames[strings.ToLower(name)]
		f.none = f.none || !ok
		out = append(out, p)
	}
	return out
}

// conditions returns the filters for which there are no lists of documents, as functions that check
// a document.
func (q *Query) conditions() []func(*Document) bool {
	var out []func(*Document) bool
	add := func(asked bool, holds func(*Document) bool) {
		if asked {
			out = append(out, holds)
		}
	}
	add(!q.LastContactAfter.IsZero(), func(d *Document) bool { return !d.LastInteractionAt.Before(q.LastContactAfter) })
	add(!q.LastContactBefore.IsZero(), func(d *Document) bool {
		return d.LastInteractionAt.Before(q.LastContactBefore)
	})
	add(!q.CreatedAfter.IsZero(), func(d *Document) bool { return !d.CreatedAt.Before(q.CreatedAfter) })
	add(q.MetOnAfter != "", func(d *Document) bool { return len(d.MetOn) > 0 && lastDay(d.MetOn) > lastDay(q.MetOnAfter) })
	add(q.MetOnBefore != "", func(d *Document) bool { return len(d.MetOn) > 0 && d.MetOn < q.MetOnBefore })
	for _, f := range q.Fields {
		out = append(out, f.holds)
	}
	add(q.Born.set(), func(d *Document) bool { return q.Born.Has(d.Birthday) })
	add(q.JobStarted.set(), func(d *Document) bool { return slices.ContainsFunc(d.JobStarts, q.JobStarted.Has) })
	add(q.JobEnded.set(), func(d *Document) bool { return slices.ContainsFunc(d.JobEnds, q.JobEnded.Has) })
	only := KindsOf(q.OnlyBy...)
	add(len(q.OnlyBy) > 0, func(d *Document) bool { return d.Kinds != 0 && d.Kinds&^only == 0 })
	if q.MetThrough != nil {
		out = append(out, q.MetThrough.holds)
	}
	add(q.BirthdayFrom > 0, func(d *Document) bool {
		on, known := d.Birthday.on()
		if q.BirthdayFrom <= q.BirthdayTo {
			return known && q.BirthdayFrom <= on && on <= q.BirthdayTo
		}
		return known && (on >= q.BirthdayFrom || on <= q.BirthdayTo)
	})
	return out
}

// lastDay returns a partial date in a form that compares like its last day.
func lastDay(date string) string { return date + "~" }

// excluded returns the documents that may not be returned: deleted ones, those that the
// filter rejects, and archived ones (or all others, in a query for archived ones). The
// result is shared and must not be changed.
func (f *filter) excluded(v *view) bitset {
	if !f.active && !f.archived && v.seg.archived == nil {
		return v.dead
	}
	out := newBitset(v.seg.len())
	for i := range out {
		if f.archived {
			out[i] = ^uint64(0)
		}
		if v.seg.archived != nil {
			out[i] ^= v.seg.archived[i]
		}
		if v.dead != nil {
			out[i] |= v.dead[i]
		}
	}
	if f.active {
		f.exclude(v.seg, out)
	}
	return out
}

// exclude adds the documents of a segment that the filter rejects. It checks conditions
// only for documents that pass everything else.
func (f *filter) exclude(s *segment, out bitset) {
	admitted := f.listed(s)
	for i := range out {
		out[i] |= ^admitted[i]
	}
	if len(f.conditions) == 0 {
		return
	}
	for i := range s.docs {
		if !out.has(i) && !f.holds(s.docs[i].doc) {
			out.set(uint32(i))
		}
	}
}

func (f *filter) holds(d *Document) bool {
	for _, condition := range f.conditions {
		if !condition(d) {
			return false
		}
	}
	return true
}

// listed returns the documents that pass the filters with lists of documents.
func (f *filter) listed(s *segment) bitset {
	all := newBitset(s.len())
	if f.none {
		return all
	}
	for i := range all {
		all[i] = ^uint64(0)
	}
	for k := range valueKinds {
		if f.contained[k] != "" {
			found := newBitset(s.len())
			for value, docs := range s.values[k] {
				if strings.Contains(value, f.contained[k]) {
					found.setAll(docs)
				}
			}
			all.and(found)
		}
		for _, value := range f.equal[k] {
			found := newBitset(s.len())
			found.setAll(s.values[k][value])
			all.and(found)
		}
	}
	for _, p := range f.has {
		all.and(s.has[p])
	}
	for _, p := range f.missing {
		for i := range all {
			all[i] &^= s.has[p][i]
		}
	}
	for _, t := range f.metHow {
		all.and(s.withWord(fieldMetHow, &t))
	}
	if f.overdue != nil {
		late := s.overdue(f.today, f.zone)
		for i := range all {
			if *f.overdue {
				all[i] &= late[i]
			} else {
				all[i] &^= late[i]
			}
		}
	}
	return all
}

// withWord returns the documents that have a word, or one that begins with it, in a field.
func (s *segment) withWord(f field, t *token) bitset {
	found := newBitset(s.len())
	for i := s.words.from(t.folded); i < len(s.words.terms) && strings.HasPrefix(s.words.terms[i].folded, t.folded); i++ {
		for _, l := range s.words.terms[i].lists {
			if field(l.kind&fieldMask) == f {
				found.setAll(l.docs)
			}
		}
	}
	return found
}

// bitset is a set of document numbers of one segment. The nil set is empty.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i uint32) { b[i/64] |= 1 << (i % 64) }

func (b bitset) setAll(docs []uint32) {
	for _, d := range docs {
		b.set(d)
	}
}

func (b bitset) has(i int) bool { return b != nil && b[i/64]&(1<<(i%64)) != 0 }

func (b bitset) and(other bitset) {
	for i := range b {
		b[i] &= other[i]
	}
}

// all iterates over the members in ascending order.
func (b bitset) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// or returns the union; it may be b itself.
func (b bitset) or(other bitset) bitset {
	for i := range other {
		b[i] |= other[i]
	}
	return b
}

// count returns how many members there are.
func (b bitset) count() int {
	n := 0
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}
