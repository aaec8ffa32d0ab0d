package search

import (
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// builder gathers words and values of documents into a segment. It is used once.
type builder struct {
	doc    uint32 // the document being added
	ids    map[string]uint32
	terms  []term
	posts  []uint64 // see pack
	values [valueKinds]map[string]uint32
	count  uint32   // of values
	pairs  []uint64 // value id and document
	scan   scanner
	buffer []byte
}

func newBuilder(docs int) *builder {
	return &builder{
		ids:   make(map[string]uint32, min(8*docs, 1<<16)),
		posts: make([]uint64, 0, 16*docs),
		pairs: make([]uint64, 0, 8*docs),
	}
}

// rank puts the documents into the order of their numbers.
func (b *builder) rank(docs []*Document) []ranked {
	keyed := make([]keyedRank, len(docs))
	for i, d := range docs {
		keyed[i] = keyRank(ranked{doc: d, key: b.nameKey(d.Name)})
	}
	slices.SortFunc(keyed, compareKeyedRank)
	out := make([]ranked, len(docs))
	for i := range keyed {
		out[i] = keyed[i].ranked
	}
	return out
}

func (b *builder) nameKey(name string) string {
	b.buffer = b.scan.join(name, b.buffer[:0])
	return foldWord(string(b.buffer))
}

// add indexes d under number doc; numbers are added in ascending order.
func (b *builder) add(doc uint32, d *Document) {
	b.doc = doc
	b.text(kind(fieldName), d.Name)
	b.text(kind(fieldNickname), d.Nickname)
	b.text(kind(fieldHeadline), d.Headline)
	b.whole(valueTitle, fieldTitle, d.Title)
	b.whole(valueLocation, fieldLocation, d.Location)
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
	b.text(kind(fieldBio), d.Bio)
	b.text(kind(fieldMetHow), d.MetHow)
	for _, n := range d.Notes {
		b.text(kind(fieldNote), n)
	}
	for _, i := range d.Interactions {
		b.text(kind(fieldInteraction), i)
	}
}

func (b *builder) handles(d *Document) {
	for _, raw := range d.Emails {
		email := normalizeEmail(raw)
		local, domain := splitEmail(email)
		b.value(valueEmail, email)
		b.value(valueDomain, domain)
		b.text(kind(fieldEmail), local)
		b.text(kind(fieldDomain), domainWords(domain))
	}
	for _, raw := range d.Phones {
		b.value(valuePhone, phoneKey(normalizePhone(raw)))
	}
	for _, raw := range d.URLs {
		url := normalizeURL(raw)
		b.value(valueURL, url)
		b.text(kind(fieldURL), urlWords(url))
	}
}

// whole indexes a text by its words and as a value that filters ask for.
func (b *builder) whole(v valueKind, f field, value string) {
	b.text(kind(f), value)
	b.value(v, text.Fold(value))
}

// text indexes the words of a text.
func (b *builder) text(k kind, body string) {
	if body == "" {
		return
	}
	b.scan.reset(body)
	for b.scan.next() {
		if b.scan.unspaced {
			chunks(b.scan.word, func(piece []byte, whole bool) {
				if whole {
					b.word(k, piece)
				} else {
					b.word(k|inner, piece)
				}
			})
			continue
		}
		b.word(k, b.scan.word)
		if len(b.scan.joints) > 0 {
			b.scan.parts(func(part []byte) { b.word(k, part) })
		}
	}
}

func (b *builder) word(k kind, word []byte) {
	id, ok := b.ids[string(word)]
	if !ok {
		typed := string(word)
		id = uint32(len(b.terms))
		b.ids[typed] = id
		b.terms = append(b.terms, term{typed: typed, folded: foldWord(typed)})
	}
	b.posts = append(b.posts, pack(id, k, b.doc))
}

func (b *builder) value(k valueKind, value string) {
	if value == "" {
		return
	}
	id, ok := b.values[k][value]
	if !ok {
		if b.values[k] == nil {
			b.values[k] = make(map[string]uint32)
		}
		id = b.count
		b.count++
		b.values[k][value] = id
	}
	b.pairs = append(b.pairs, uint64(id)<<32|uint64(b.doc))
}

// valueTable lays the values out by counting, which keeps documents in order.
func (b *builder) valueTable() valueTable {
	starts := make([]uint32, b.count+1)
	for _, p := range b.pairs {
		starts[p>>32+1]++
	}
	for i := range b.count {
		starts[i+1] += starts[i]
	}
	posts := make([]uint32, len(b.pairs))
	next := slices.Clone(starts)
	for _, p := range b.pairs {
		posts[next[p>>32]] = uint32(p)
		next[p>>32]++
	}
	return valueTable{ids: b.values, starts: starts, posts: posts}
}
