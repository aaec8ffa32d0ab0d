package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Document is the data of one connection that the index holds. Only ID is required. Put copies the
// document and its slices; the strings themselves are shared.
type Document struct {
	ID   string
	Name string

	Nickname     string
	Headline     string
	Organization string // the current one
	Title        string
	Location     string
	// FamilyName is the known family name; if it is empty, orders guess it from Name.
	FamilyName string
	// OtherNames are parts of the name beside Name, such as a former one.
	OtherNames []string
	// Accounts are the handles of accounts.
	Accounts []string
	// Fields are the values of custom fields.
	Fields []FieldValue
	// Places are those of further postal addresses.
	Places []string
	Bio    string // up to 2,000 characters
	MetHow string // how they met

	Organizations []string // all, the current ones first
	CurrentJobs   int32    // how many of Organizations are current
	OtherTitles   []string // titles of further current positions
	Emails        []string // as entered, like phones and URLs; normalised inside
	Phones        []string
	URLs          []string
	Tags          []string
	Groups        []string
	GroupIDs      []string // of Groups, in their order
	Notes         []string // bodies, each up to 20,000 characters
	Interactions  []string // summaries

	MetOn    string // a partial date: YYYY, YYYY-MM or YYYY-MM-DD
	Birthday Date
	Dates    []Date // all, the birthday too
	// JobStarts and JobEnds are when positions started and ended, as far as it is known.
	JobStarts, JobEnds []Date
	// Kinds are those of all interactions.
	Kinds Kinds
	// IntroducedBy are the names of people who are not on file and introduced this one.
	IntroducedBy []string
	HasAddress   bool // a postal one

	Starred  bool
	Deceased bool // without birthdays and intervals in lists of what is due
	Archived bool // found only by a query for archived people
	Gone     bool // removes the document from the index

	LastInteractionAt time.Time // zero: never
	CreatedAt         time.Time

	// CadenceDays is the person's own keep-in-touch interval, 0 or cadence.Never, and GroupCadence the
	// shortest of their groups, in days; 0 is none.
	CadenceDays, GroupCadence int
	SnoozedUntil              time.Time // a day, UTC midnight; zero: not snoozed
	// Ties is the sum of all contacts, each decayed to people.TiesEpoch. It grows
	// with the strength of the tie at any time.
	Ties float64
	// Meetings, Calls and Messages (e-mails among them) that are stored.
	Meetings, Calls, Messages int32
	// Peak is the sum of all contacts, each decayed to the last contact.
	Peak float64
}

// Cadence is how often the member wants to be in touch with the person.
func (d *Document) Cadence() cadence.Cadence {
	if d.Deceased {
		return cadence.Cadence{LastContactAt: d.LastInteractionAt, CreatedAt: d.CreatedAt}
	}
	return cadence.Cadence{
		OwnDays: d.CadenceDays, GroupDays: d.GroupCadence, SnoozedUntil: d.SnoozedUntil,
		LastContactAt: d.LastInteractionAt, CreatedAt: d.CreatedAt,
	}
}

// ranked is a document with the key that orders and identifies its name.
type ranked struct {
	doc *Document
	key string // folded words of the name, joined by one space
	sum uint64 // a checksum of the id
}

// compareRank is the order among equally scored documents: starred, the more
// recent contact, name, id. Ids are unique, so the order is total.
func compareRank(a, b ranked) int {
	switch {
	case a.doc.Starred && !b.doc.Starred:
		return -1
	case b.doc.Starred && !a.doc.Starred:
		return 1
	}
	return cmp.Or(b.doc.LastInteractionAt.Compare(a.doc.LastInteractionAt), compareName(a, b))
}

func compareName(a, b ranked) int {
	if order := strings.Compare(a.key, b.key); order != 0 {
		return order
	}
	return strings.Compare(a.doc.ID, b.doc.ID)
}

// interner shares equal strings among the documents of one Put: organisations,
// titles, places, tags and groups repeat, names and notes do not.
type interner map[string]string

func (in interner) share(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := in[s]; ok {
		return known
	}
	in[s] = s
	return s
}

func (in interner) shareAll(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = in.share(s)
	}
	return out
}

// keep copies d, so that later changes of the caller's slices have no effect.
func (in interner) keep(d *Document) *Document {
	c := *d
	c.Headline, c.Organization = in.share(d.Headline), in.share(d.Organization)
	c.Title, c.Location = in.share(d.Title), in.share(d.Location)
	c.Organizations = in.shareAll(d.Organizations)
	c.OtherTitles = in.shareAll(d.OtherTitles)
	c.Tags, c.Groups, c.GroupIDs = in.shareAll(d.Tags), in.shareAll(d.Groups), in.shareAll(d.GroupIDs)
	c.Dates, c.Fields = slices.Clone(d.Dates), slices.Clone(d.Fields)
	c.JobStarts, c.JobEnds = slices.Clone(d.JobStarts), slices.Clone(d.JobEnds)
	for i, v := range c.Fields {
		c.Fields[i] = FieldValue{in.share(v.Key), in.share(v.Name), in.share(v.Type), in.share(v.Value)}
	}
	for _, list := range []*[]string{&c.Emails, &c.Phones, &c.URLs, &c.Accounts, &c.Places, &c.OtherNames, &c.IntroducedBy, &c.Notes, &c.Interactions} {
		*list = slices.Clone(*list)
	}
	return &c
}

// textBytes estimates how many bytes the document's own strings take. Strings that documents share don't count.
func (d *Document) textBytes() int64 {
	n := len(d.ID) + len(d.Name) + len(d.Nickname) + len(d.Bio) + len(d.MetHow)
	for _, list := range [][]string{d.Emails, d.Phones, d.URLs, d.Accounts, d.Places, d.OtherNames, d.IntroducedBy, d.Notes, d.Interactions} {
		for _, s := range list {
			n += stringBytes + len(s)
		}
	}
	for _, v := range d.Fields {
		n += 4*stringBytes + len(v.Value)
	}
	return int64(n + stringBytes*(len(d.Organizations)+len(d.OtherTitles)+len(d.Tags)+2*len(d.Groups)))
}

// builder collects the words and values of documents for a segment. It is used once.
type builder struct {
	doc    uint32 // the document being added
	terms  lexicon
	sounds lexicon // of names in other scripts than Latin
	values valueTable
	scan   scanner
}

// lexicon collects the terms of a vocabulary.
type lexicon struct {
	ids   map[string]int
	terms []term
}

func newBuilder() *builder {
	b := &builder{terms: lexicon{ids: map[string]int{}}, sounds: lexicon{ids: map[string]int{}}}
	for k := range b.values {
		b.values[k] = map[string][]uint32{}
	}
	return b
}

// rank sorts the documents into the order of their numbers.
func (b *builder) rank(docs []*Document) []ranked {
	out := make([]ranked, len(docs))
	for i, d := range docs {
		out[i] = ranked{doc: d, key: b.scan.nameKey(d.Name), sum: checksum(d.ID)}
	}
	slices.SortFunc(out, compareRank)
	return out
}

// checksum returns a checksum of an id that is the same in every process.
func checksum(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.LittleEndian.Uint64(sum[:])
}

// add indexes d under number doc. Numbers are added in ascending order.
func (b *builder) add(doc uint32, d *Document) {
	b.doc = doc
	b.name(fieldName, d.Name)
	b.name(fieldNickname, d.Nickname)
	for _, name := range d.OtherNames {
		b.name(fieldNickname, name)
	}
	b.words(fieldHeadline, d.Headline)
	b.whole(valueTitle, fieldTitle, d.Title)
	b.whole(valueLocation, fieldLocation, d.Location)
	b.value(valueCountry, country.Of(d.Location))
	for _, place := range d.Places {
		b.whole(valueLocation, fieldLocation, place)
		b.value(valueCountry, country.Of(place))
	}
	b.whole(valueCompany, fieldOrganization, d.Organization)
	for _, o := range d.Organizations {
		if o != d.Organization {
			b.whole(valueCompany, fieldOrganization, o)
		}
	}
	for _, t := range d.Tags {
		b.whole(valueTag, fieldTag, t)
	}
	for _, g := range d.Groups {
		b.whole(valueGroup, fieldGroup, g)
	}
	b.handles(d)
	b.words(fieldBio, d.Bio)
	for _, v := range d.Fields {
		b.words(fieldBio, v.text())
	}
	b.words(fieldMetHow, d.MetHow)
	for _, n := range d.Notes {
		b.words(fieldNote, n)
	}
	for _, i := range d.Interactions {
		b.words(fieldInteraction, i)
	}
}

func (b *builder) handles(d *Document) {
	for _, raw := range d.Emails {
		email := normalizeEmail(raw)
		local, domain := splitEmail(email)
		b.value(valueEmail, email)
		b.value(valueDomain, domain)
		b.words(fieldEmail, local)
		b.words(fieldDomain, domainWords(domain))
	}
	for _, raw := range d.Phones {
		b.value(valuePhone, phoneKey(normalizePhone(raw)))
	}
	for _, handle := range d.Accounts {
		b.words(fieldURL, handle)
	}
	for _, raw := range d.URLs {
		url := normalizeURL(raw)
		b.value(valueURL, url)
		b.words(fieldURL, urlWords(url))
	}
}

// whole indexes a text by its words and as a value for filters.
func (b *builder) whole(v valueKind, f field, value string) {
	b.words(f, value)
	b.value(v, text.Fold(value))
}

// name indexes the words of a name, and how those in another script than Latin sound.
func (b *builder) name(f field, name string) {
	b.words(f, name)
	if isASCII(name) {
		return
	}
	b.scan.reset(name)
	for b.scan.next() {
		word := foldWord(string(b.scan.word))
		if !names.OtherScript(word) {
			continue
		}
		for _, form := range names.Sounds(word) {
			if len(form) >= minSound {
				b.sounds.add(b.doc, kind(f), []byte(form))
			}
		}
	}
}

// words indexes the words of a text.
func (b *builder) words(f field, body string) {
	b.scan.reset(body)
	for b.scan.next() {
		if b.scan.unspaced {
			chunks(b.scan.word, func(piece []byte, whole bool) {
				if whole {
					b.terms.add(b.doc, kind(f), piece)
				} else {
					b.terms.add(b.doc, kind(f)|inner, piece)
				}
			})
			continue
		}
		b.terms.add(b.doc, kind(f), b.scan.word)
		b.scan.parts(func(part []byte) { b.terms.add(b.doc, kind(f), part) })
	}
}

// add adds a word of a document. Numbers of documents are added in ascending order.
func (l *lexicon) add(doc uint32, k kind, word []byte) {
	id, ok := l.ids[string(word)]
	if !ok {
		typed := string(word)
		id = len(l.terms)
		l.ids[typed] = id
		l.terms = append(l.terms, term{typed: typed, folded: foldWord(typed)})
	}
	t := &l.terms[id]
	i := slices.IndexFunc(t.lists, func(l list) bool { return l.kind == k })
	if i < 0 {
		i = len(t.lists)
		t.lists = append(t.lists, list{kind: k})
	}
	t.lists[i].docs = appendNew(t.lists[i].docs, doc)
}

func (b *builder) value(k valueKind, value string) {
	if value != "" {
		b.values[k][value] = appendNew(b.values[k][value], b.doc)
	}
}

// appendNew appends doc unless it is the last of docs.
func appendNew(docs []uint32, doc uint32) []uint32 {
	if n := len(docs); n > 0 && docs[n-1] == doc {
		return docs
	}
	return append(docs, doc)
}

// segment is an immutable index over some documents. Document numbers follow
// compareRank: of two equally good matches the smaller number is the better.
type segment struct {
	docs   []ranked
	byID   map[string]uint32
	words  vocabulary
	sounds vocabulary // of names in other scripts than Latin, in the forms of names.Sounds
	values valueTable
	has    [presences]bitset
	// archived are found only by a query for archived people; nil when there are none.
	archived bitset
	size     int64
	sum      uint64 // of the checksums of all documents

	// numbers, latin, due and orders are computed on first use.
	numbers func() *numbers
	latin   func() *vocabulary
	due     atomic.Pointer[dueOrder]

	ordering sync.Mutex
	orders   []order // guarded by ordering
}

func (s *segment) len() int { return len(s.docs) }

// valueKind is a property that is compared as a whole.
type valueKind uint8

const (
	valueEmail valueKind = iota
	valuePhone           // phoneKey
	valueURL
	valueDomain
	valueCompany
	valueTitle
	valueLocation
	valueCountry // in the spelling of package country
	valueTag
	valueGroup
	valueKinds
)

// valueTable lists the documents that have a value, in ascending order.
type valueTable [valueKinds]map[string][]uint32

// presence is one of the things that [Query.Has] asks for.
type presence uint8

const (
	hasEmail presence = iota
	hasPhone
	hasURL
	hasAddress
	hasNote
	hasInteraction
	hasBirthday
	hasLocation
	hasOrganization
	hasTitle
	hasTag
	hasGroup
	hasCadence
	hasMetHow
	isContacted // these two have filters of their own
	isStarred
	presences
)

var presenceNames = map[string]presence{
	"email": hasEmail, "phone": hasPhone, "url": hasURL, "address": hasAddress, "note": hasNote, "interaction": hasInteraction,
	"birthday": hasBirthday, "location": hasLocation, "organization": hasOrganization, "title": hasTitle, "tag": hasTag, "group": hasGroup,
	"cadence": hasCadence, "met_how": hasMetHow,
}

// Presences returns the words for [Query.Has] and [Query.Missing], sorted.
func Presences() []string { return slices.Sorted(maps.Keys(presenceNames)) }

func (d *Document) present() [presences]bool {
	return [presences]bool{
		hasEmail:       len(d.Emails) > 0,
		hasPhone:       len(d.Phones) > 0,
		hasURL:         len(d.URLs) > 0,
		hasAddress:     d.HasAddress,
		hasNote:        len(d.Notes) > 0,
		hasInteraction: len(d.Interactions) > 0 || !d.LastInteractionAt.IsZero(),

		hasBirthday:     d.Birthday != Date{},
		hasLocation:     d.Location != "",
		hasOrganization: d.Organization != "",
		hasTitle:        d.Title != "",
		hasTag:          len(d.Tags) > 0,
		hasGroup:        len(d.Groups) > 0,
		hasCadence:      !d.Deceased && d.CadenceDays != cadence.Never && d.CadenceDays+d.GroupCadence > 0,
		hasMetHow:       d.MetHow != "" || d.MetOn != "",
		isContacted:     !d.LastInteractionAt.IsZero(),
		isStarred:       d.Starred,
	}
}

// newSegment indexes docs, no id twice.
func newSegment(docs []*Document) *segment {
	b := newBuilder()
	s := &segment{docs: b.rank(docs), byID: make(map[string]uint32, len(docs))}
	for p := range s.has {
		s.has[p] = newBitset(len(docs))
	}
	for i := range s.docs {
		b.add(uint32(i), s.docs[i].doc)
		s.sum ^= s.docs[i].sum
		s.byID[s.docs[i].doc.ID] = uint32(i)
		if s.docs[i].doc.Archived {
			if s.archived == nil {
				s.archived = newBitset(len(docs))
			}
			s.archived.set(uint32(i))
		}
		for p, ok := range s.docs[i].doc.present() {
			if ok {
				s.has[p].set(uint32(i))
			}
		}
	}
	s.words, s.sounds, s.values = newVocabulary(b.terms.terms), newVocabulary(b.sounds.terms), b.values
	s.latin = sync.OnceValue(s.words.latinSounds)
	s.numbers = sync.OnceValue(func() *numbers { return newNumbers(s.docs) })
	s.size = s.bytes()
	return s
}

// Estimates of the memory, in bytes, of an entry of a map from strings and of a
// document without its texts.
const (
	entryBytes    = 64
	documentBytes = 624
)

func (s *segment) bytes() int64 {
	n := s.words.bytes() + s.sounds.bytes() + int64(len(s.docs))*(entryBytes+documentBytes)
	for k, values := range s.values {
		for value, docs := range values {
			n += int64(entryBytes + numberBytes*len(docs))
			if valueKind(k) >= valueCompany {
				n += 2 * int64(len(value)) // as entered and folded
			}
		}
	}
	for i := range s.docs {
		n += s.docs[i].doc.textBytes() + int64(len(s.docs[i].key))
	}
	return n
}

const (
	// mergeFan segments of one size class are rebuilt into one, so a document is
	// rebuilt once per class and there are fewer than mergeFan segments of each.
	mergeFan = 4
	// classBits is the width of a size class: sizes within a factor of four.
	classBits = 2
)

// merge does one step of compaction, and reports whether there was one: it drops segments without
// valid documents, rebuilds segments whose documents are mostly dead, or joins segments of similar
// size.
func (c *change) merge() bool {
	c.views = slices.DeleteFunc(c.views, func(v *view) bool { return v.live == 0 })
	var classes [64/classBits + 1][]*view
	for _, v := range c.views {
		if 2*v.live < v.seg.len() {
			c.rebuild(v)
			return true
		}
		class := bits.Len(uint(v.live)) / classBits
		classes[class] = append(classes[class], v)
		if len(classes[class]) == mergeFan {
			c.rebuild(classes[class]...)
			return true
		}
	}
	return false
}

// rebuild replaces the segments by one with their valid documents.
func (c *change) rebuild(views ...*view) {
	var docs []*Document
	for _, v := range views {
		for i := range v.seg.docs {
			if !v.dead.has(i) {
				docs = append(docs, v.seg.docs[i].doc)
			}
		}
	}
	c.views = slices.DeleteFunc(c.views, func(v *view) bool { return slices.Contains(views, v) })
	c.add(docs)
}
