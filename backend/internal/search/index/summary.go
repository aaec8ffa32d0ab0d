package index

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/people/cadence"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Facet is a property by which a Summary counts people.
type Facet uint8

// The facets. Organizations are those of current positions; GroupIDs are the ids of Groups.
const (
	Tags Facet = iota
	Groups
	GroupIDs
	Organizations
	Locations
	facets      // those that a Summary counts
	BirthMonths // 1 to 12
)

// Count is a value of a facet and how many people have it.
type Count struct {
	Value  string
	People int
}

const (
	// MaxTop is how many values of a facet Top returns at most.
	MaxTop = 10
	// MaxTags is how many tags MostUsedTags returns at most.
	MaxTags = 200
)

// Summary has counts and orders of all people in one state of the index, without archived ones.
// Those that do not depend on the time are computed once for each state, and only once for each
// segment.
type Summary struct {
	// People is the number of people who are not archived, Archived that of archived people in the
	// index.
	People, Archived int

	parts  []summed
	counts tally
	top    [facets][]Count
	tags   []Count
}

// summed is a segment with the documents that are left out: deleted and archived ones.
type summed struct {
	*segment

	out bitset
}

// Summary returns the summary of the index at the time of the call.
func (ix *Index) Summary() *Summary { return ix.state.Load().summary() }

// newSnapshot returns a state of the views.
func newSnapshot(views []*view) *snapshot {
	return &snapshot{views: views, summary: sync.OnceValue(func() *Summary { return newSummary(views) })}
}

func newSummary(views []*view) *Summary {
	s := &Summary{}
	for _, v := range views {
		p := summed{segment: v.seg, out: (&filter{}).excluded(v)}
		s.parts = append(s.parts, p)
		s.People += v.seg.len() - p.out.count()
		s.Archived += v.archived().count()
	}
	for f := range facets {
		s.counts[f] = map[string]int{}
	}
	for i, v := range views {
		s.counts.addAll(&v.seg.numbers().counts, i == 0)
		for d := range v.dead.all() {
			if doc := v.seg.docs[d].doc; !doc.Archived {
				s.counts.add(doc, -1)
			}
		}
	}
	for f := range facets {
		s.top[f] = most(s.counts[f], MaxTop, cmp.Compare[string])
	}
	s.tags = most(s.counts[Tags], MaxTags, func(a, b string) int { return cmp.Compare(text.Fold(a), text.Fold(b)) })
	return s
}

// Count returns how many people have a value of a facet.
func (s *Summary) Count(f Facet, value string) int { return s.counts[f][value] }

// Top returns the values of a facet that the most people have, MaxTop at most. Among
// equals, values are in the order of their bytes. The result must not be changed.
func (s *Summary) Top(f Facet) []Count { return s.top[f] }

// MostUsedTags returns the tags that the most people have, MaxTags at most. Among
// equals, tags are in alphabetical order. The result must not be changed.
func (s *Summary) MostUsedTags() []Count { return s.tags }

// tally counts the people who have each value of each facet.
type tally [facets]map[string]int

// add counts the values of a document n times.
func (t *tally) add(d *Document, n int) {
	for f := range facets {
		d.values(f, func(value string) { t[f][value] += n })
	}
}

// values calls found for each value of a facet that a document has, once.
func (d *Document) values(f Facet, found func(value string)) {
	var list []string
	switch f {
	case Tags:
		list = d.Tags
	case Groups:
		list = d.Groups
	case GroupIDs:
		list = d.GroupIDs
	case Organizations:
		current := d.Organizations[:d.CurrentJobs]
		for i, organization := range current {
			if !slices.Contains(current[:i], organization) {
				found(organization)
			}
		}
	case Locations:
		if d.Location != "" {
			found(d.Location)
		}
	case BirthMonths:
		if d.Birthday.Month > 0 {
			found(strconv.Itoa(int(d.Birthday.Month)))
		}
	}
	for _, value := range list {
		found(value)
	}
}

// addAll adds another tally; first says that t is empty.
func (t *tally) addAll(other *tally, first bool) {
	for f := range facets {
		if first {
			t[f] = maps.Clone(other[f])
			continue
		}
		for value, people := range other[f] {
			t[f][value] += people
		}
	}
}

// most returns the n values with the highest counts above 0; compare orders equal ones.
func most(counts map[string]int, n int, compare func(a, b string) int) []Count {
	var out []Count
	order := func(a, b Count) int { return cmp.Or(cmp.Compare(b.People, a.People), compare(a.Value, b.Value)) }
	full := false // out[n-1] is the last of the best so far
	for value, people := range counts {
		c := Count{value, people}
		if people < 1 || full && order(c, out[n-1]) > 0 {
			continue
		}
		if out = append(out, c); len(out) == 2*n {
			slices.SortFunc(out, order)
			out, full = out[:n], true
		}
	}
	slices.SortFunc(out, order)
	return out[:min(n, len(out))]
}

// numbers are the counts and orders of all documents of a segment; only counts leaves out archived
// ones.
type numbers struct {
	counts tally
	// created are the documents by CreatedAt, the latest first.
	created []uint32
	// closest and peaks are the documents with Ties, by Ties and by Peak, the highest first.
	closest, peaks []uint32
	// dates are the dates of all documents by the day of the year.
	dates []dated
}

func newNumbers(docs []ranked) *numbers {
	n := &numbers{created: make([]uint32, len(docs))}
	for f := range facets {
		n.counts[f] = map[string]int{}
	}
	for i := range docs {
		d := docs[i].doc
		n.created[i] = uint32(i)
		if !d.Archived {
			n.counts.add(d, 1)
		}
		if d.Ties > 0 {
			n.closest = append(n.closest, uint32(i))
		}
		if !d.Deceased {
			n.dates = appendDates(n.dates, uint32(i), d.Dates)
		}
	}
	n.peaks = slices.Clone(n.closest)
	sortBy(docs, n.created, func(a, b *Document) int { return b.CreatedAt.Compare(a.CreatedAt) })
	sortBy(docs, n.closest, compareTies)
	sortBy(docs, n.peaks, comparePeak)
	sortDates(n.dates)
	return n
}

func sortBy(docs []ranked, order []uint32, compare func(a, b *Document) int) {
	slices.SortFunc(order, func(a, b uint32) int { return compare(docs[a].doc, docs[b].doc) })
}

func compareTies(a, b *Document) int {
	return cmp.Or(cmp.Compare(b.Ties, a.Ties), strings.Compare(a.ID, b.ID))
}

func comparePeak(a, b *Document) int {
	return cmp.Or(cmp.Compare(b.Peak, a.Peak), strings.Compare(a.ID, b.ID))
}

// span is a range of document numbers.
type span struct{ from, to int }

// contactedSince returns the documents with a contact at a time or later. Documents are
// ordered by compareRank, so there is one range of starred ones and one of others.
func (s *segment) contactedSince(t time.Time) [2]span {
	first := func(from, to int, holds func(d *Document) bool) int {
		return from + sort.Search(to-from, func(i int) bool { return holds(s.docs[from+i].doc) })
	}
	earlier := func(d *Document) bool { return d.LastInteractionAt.Before(t) }
	stars := first(0, len(s.docs), func(d *Document) bool { return !d.Starred })
	return [2]span{{0, first(0, stars, earlier)}, {stars, first(stars, len(s.docs), earlier)}}
}

// ContactedSince counts the people with a contact at a time or later.
func (s *Summary) ContactedSince(t time.Time) int {
	n := 0
	for _, p := range s.parts {
		for _, in := range p.contactedSince(t) {
			n += in.to - in.from - p.out.countIn(in)
		}
	}
	return n
}

// NeverContacted counts the people without a contact.
func (s *Summary) NeverContacted() int { return s.People - s.ContactedSince(time.Time{}.Add(1)) }

// CreatedSince counts the people who were added at a time or later.
func (s *Summary) CreatedSince(t time.Time) int {
	n := 0
	for _, p := range s.parts {
		created := p.numbers().created
		n += sort.Search(len(created), func(i int) bool { return p.docs[created[i]].doc.CreatedAt.Before(t) })
		for d := range p.out.all() {
			if !p.docs[d].doc.CreatedAt.Before(t) {
				n--
			}
		}
	}
	return n
}

// ContactedAfter returns the people whose last contact is after a time. With the current time,
// these are the people with a contact in the future.
func (s *Summary) ContactedAfter(t time.Time) []*Document {
	var out []*Document
	for _, p := range s.parts {
		for _, in := range p.contactedSince(t.Add(1)) {
			for d := in.from; d < in.to; d++ {
				if !p.out.has(d) {
					out = append(out, p.docs[d].doc)
				}
			}
		}
	}
	return out
}

// Closest returns the n people with the highest Ties, above 0, of those without a contact
// after now.
func (s *Summary) Closest(now time.Time, n int) []*Document {
	return s.first(n, (*numbers).closestOf, compareTies, func(d *Document) (keep, stop bool) { return !d.LastInteractionAt.After(now), false })
}

// Fading returns the n people with the highest Peak, of those with a Peak of least or more and
// their last contact before a time, without those of whom the member never wants to be reminded.
func (s *Summary) Fading(least float64, before time.Time, n int) []*Document {
	return s.first(n, (*numbers).peaksOf, comparePeak, func(d *Document) (keep, stop bool) {
		return d.LastInteractionAt.Before(before) && d.CadenceDays != cadence.Never, d.Peak < least
	})
}

func (n *numbers) closestOf() []uint32 { return n.closest }
func (n *numbers) peaksOf() []uint32   { return n.peaks }

// first merges an order of each segment and returns the first n people.
func (s *Summary) first(n int, order func(*numbers) []uint32, compare func(a, b *Document) int, choose func(*Document) (keep, stop bool)) []*Document {
	var out []*Document
	for _, p := range s.parts {
		kept := 0
		for _, d := range order(p.numbers()) {
			doc := p.docs[d].doc
			keep, stop := choose(doc)
			if stop || kept == n {
				break
			}
			if keep && !p.out.has(int(d)) {
				out = append(out, doc)
				kept++
			}
		}
	}
	slices.SortFunc(out, compare)
	return out[:min(n, len(out))]
}

// countIn returns how many members of a range there are.
func (b bitset) countIn(in span) int {
	n := 0
	for i := in.from / 64; i < len(b) && i*64 < in.to; i++ {
		word := b[i]
		if skip := in.from - i*64; skip > 0 {
			word &= ^uint64(0) << skip
		}
		if rest := in.to - i*64; rest < 64 {
			word &= 1<<rest - 1
		}
		n += bits.OnesCount64(word)
	}
	return n
}

// At is a person who is or was at an organisation.
type At struct {
	*Document

	// Current says that they have a current position there, or an address at its domain.
	Current bool
}

// PeopleAt returns the people who hold a position at one of the organisations, or held
// one if past is set, and those with an address at the domain, if it is not empty. It calls
// found for each of them, in no particular order.
func (s *Summary) PeopleAt(organizations []string, domain string, past bool, found func(At)) {
	for _, p := range s.parts {
		current := map[uint32]bool{}
		for _, name := range organizations {
			for _, d := range p.values[valueCompany][text.Fold(name)] {
				at := slices.Index(p.docs[d].doc.Organizations, name)
				if is := at >= 0 && at < int(p.docs[d].doc.CurrentJobs); is || at >= 0 && past {
					current[d] = current[d] || is
				}
			}
		}
		if domain != "" {
			for _, d := range p.values[valueDomain][domain] {
				current[d] = true
			}
		}
		for d, is := range current {
			if !p.out.has(int(d)) {
				found(At{p.docs[d].doc, is})
			}
		}
	}
}

// Property is a property whose whole value people can share.
type Property uint8

// The properties.
const (
	ByOrganization = Property(valueCompany) // past ones too
	ByTitle        = Property(valueTitle)
	ByLocation     = Property(valueLocation)
	ByTag          = Property(valueTag)
	ByGroup        = Property(valueGroup)
)

// Sharing returns the documents with a value of a property, ignoring case and accents. It returns
// at most the given number of them: starred ones first, then those contacted last.
func (l *Lookup) Sharing(p Property, value string, most int) []*Document {
	return l.sharing(p, text.Fold(value), most)
}

func (l *Lookup) sharing(p Property, folded string, most int) []*Document {
	var found []ranked
	parts := 0
	for i, v := range l.views {
		n := len(found)
		for _, d := range v.seg.values[p][folded] {
			if l.out[i].has(int(d)) {
				continue
			}
			if found = append(found, v.seg.docs[d]); len(found)-n == most {
				break
			}
		}
		if len(found) > n {
			parts++
		}
	}
	if parts > 1 { // each part is in order
		slices.SortFunc(found, compareRank)
	}
	out := make([]*Document, min(most, len(found)))
	for i := range out {
		out[i] = found[i].doc
	}
	return out
}

// Circles returns the documents of each value of a property that two or more of them share, the
// rarest value first. For each value it returns most documents at most, like Sharing. It stops
// after the value with which the result has rows documents or more.
func (l *Lookup) Circles(p Property, most, rows int) [][]*Document {
	values := l.shared(p)
	values = values[:smallest(values, most, rows)]
	slices.SortFunc(values, func(a, b sharedValue) int {
		return cmp.Or(cmp.Compare(a.docs, b.docs), cmp.Compare(a.value, b.value))
	})
	var out [][]*Document
	for _, v := range values {
		if rows <= 0 {
			break
		}
		out = append(out, l.sharing(p, v.value, most))
		rows -= min(most, v.docs)
	}
	return out
}

// sharedValue is a value and how many documents have it.
type sharedValue struct {
	value string
	docs  int
}

// shared returns the values that two or more documents have, in any order.
func (l *Lookup) shared(p Property) []sharedValue {
	var out []sharedValue
	for i, v := range l.views {
		for value, docs := range v.seg.values[p] {
			if l.earlier(i, p, value) {
				continue
			}
			n := l.live(i, docs)
			for later := i + 1; later < len(l.views); later++ {
				n += l.live(later, l.views[later].seg.values[p][value])
			}
			if n > 1 {
				out = append(out, sharedValue{value, n})
			}
		}
	}
	return out
}

// earlier reports whether a part before the given one has a value.
func (l *Lookup) earlier(part int, p Property, value string) bool {
	for _, v := range l.views[:part] {
		if _, ok := v.seg.values[p][value]; ok {
			return true
		}
	}
	return false
}

// live counts those of the documents of a part that are not filtered out.
func (l *Lookup) live(part int, docs []uint32) int {
	if l.out[part] == nil {
		return len(docs)
	}
	n := 0
	for _, d := range docs {
		if !l.out[part].has(int(d)) {
			n++
		}
	}
	return n
}

// smallest moves the rarest values to the front and returns how many it moved: as many as have the
// wanted number of rows, and all values as rare as the last of them.
func smallest(values []sharedValue, most, rows int) int {
	bySize := map[int]int{}
	for _, v := range values {
		bySize[v.docs]++
	}
	sizes := make([]int, 0, len(bySize))
	for size := range bySize {
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	last := 0
	for _, size := range sizes {
		if rows <= 0 {
			break
		}
		last, rows = size, rows-bySize[size]*min(size, most)
	}
	n := 0
	for i := range values {
		if values[i].docs <= last {
			values[n], values[i] = values[i], values[n]
			n++
		}
	}
	return n
}

// Misspelt reports whether two folded words are within the number of edits that a search
// allows: none in a word of up to three letters, one up to seven, two from eight.
func Misspelt(a, b string) bool {
	limit := min(editsFor(a, utf8.RuneCountInString(a)), editsFor(b, utf8.RuneCountInString(b)))
	return text.Distance([]rune(a), b, limit) <= limit
}
