package index

import (
	"sync"
	"sync/atomic"
)

// segment is an immutable index over some documents. Document numbers follow
// compareRank: of two equally good matches the smaller number is the better.
type segment struct {
	docs   []ranked
	byID   map[string]uint32
	words  vocabulary
	values valueTable
	has    [presences]bitset
	// archived are found only by a query for archived people; nil when there are none.
	archived bitset
	size     int64
	sum      uint64 // of the checksums of all documents

	// numbers, due and orders are computed on first use.
	numbers func() *numbers
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
	hasNote
	hasInteraction
	hasBirthday
	hasLocation
	hasOrganization
	hasTag
	hasGroup
	hasCadence
	hasMetHow
	isContacted // these two have filters of their own
	isStarred
	presences
)

var presenceNames = map[string]presence{
	"email": hasEmail, "phone": hasPhone, "url": hasURL, "note": hasNote, "interaction": hasInteraction,
	"birthday": hasBirthday, "location": hasLocation, "organization": hasOrganization, "tag": hasTag, "group": hasGroup,
	"cadence": hasCadence, "met_how": hasMetHow,
}

func (d *Document) present() [presences]bool {
	return [presences]bool{
		hasEmail:       len(d.Emails) > 0,
		hasPhone:       len(d.Phones) > 0,
		hasURL:         len(d.URLs) > 0,
		hasNote:        len(d.Notes) > 0,
		hasInteraction: len(d.Interactions) > 0 || !d.LastInteractionAt.IsZero(),

		hasBirthday:     d.Birthday != Date{},
		hasLocation:     d.Location != "",
		hasOrganization: d.Organization != "",
		hasTag:          len(d.Tags) > 0,
		hasGroup:        len(d.Groups) > 0,
		hasCadence:      d.CadenceDays+d.GroupCadence > 0,
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
	s.words, s.values = newVocabulary(b.terms), b.values
	s.numbers = sync.OnceValue(func() *numbers { return newNumbers(s.docs) })
	s.size = s.bytes()
	return s
}

// Estimates of the memory, in bytes, of an entry of a map from strings and of a
// document without its texts.
const (
	entryBytes    = 64
	documentBytes = 520
)

func (s *segment) bytes() int64 {
	n := s.words.bytes() + int64(len(s.docs))*(entryBytes+documentBytes)
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
