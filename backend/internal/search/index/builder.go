package index

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/text"
)

// builder collects the words and values of documents for a segment. It is used once.
type builder struct {
	doc    uint32 // the document being added
	ids    map[string]int
	terms  []term
	values valueTable
	scan   scanner
}

func newBuilder() *builder {
	b := &builder{ids: map[string]int{}}
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
	b.words(fieldName, d.Name)
	b.words(fieldNickname, d.Nickname)
	b.words(fieldHeadline, d.Headline)
	b.whole(valueTitle, fieldTitle, d.Title)
	b.whole(valueLocation, fieldLocation, d.Location)
	b.value(valueCountry, country.Of(d.Location))
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

// words indexes the words of a text.
func (b *builder) words(f field, body string) {
	b.scan.reset(body)
	for b.scan.next() {
		if b.scan.unspaced {
			chunks(b.scan.word, func(piece []byte, whole bool) {
				if whole {
					b.word(kind(f), piece)
				} else {
					b.word(kind(f)|inner, piece)
				}
			})
			continue
		}
		b.word(kind(f), b.scan.word)
		b.scan.parts(func(part []byte) { b.word(kind(f), part) })
	}
}

func (b *builder) word(k kind, word []byte) {
	id, ok := b.ids[string(word)]
	if !ok {
		typed := string(word)
		id = len(b.terms)
		b.ids[typed] = id
		b.terms = append(b.terms, term{typed: typed, folded: foldWord(typed)})
	}
	t := &b.terms[id]
	i := slices.IndexFunc(t.lists, func(l list) bool { return l.kind == k })
	if i < 0 {
		i = len(t.lists)
		t.lists = append(t.lists, list{kind: k})
	}
	t.lists[i].docs = appendNew(t.lists[i].docs, b.doc)
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
