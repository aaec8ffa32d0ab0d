package people

import (
	"hash/maphash"
	"slices"

	"github.com/kith-crm/kith/backend/internal/people/names"
)

// Evidence is what is known about a person that can show that another record is somebody else.
type Evidence struct {
	names.Names

	birthday [3]int16 // year, month and day; 0 where unknown
	// emails, phones and pages are hashes of addresses.
	emails, phones, pages []uint64
}

var evidenceSeed = maphash.MakeSeed()

// EvidenceOf returns the evidence about a person. The names may be fewer than those of the record:
// a guessed name is no evidence.
func EvidenceOf(said names.Names, handles []Handle, dates []ImportantDate) Evidence {
	e := Evidence{Names: said}
	for _, h := range handles {
		switch k := keyOf(h); {
		case k.value == "":
		case k.kind == KindEmail:
			e.emails = append(e.emails, maphash.String(evidenceSeed, k.value))
		case k.isShared():
		case k.kind == KindPhone:
			e.phones = append(e.phones, maphash.String(evidenceSeed, k.value))
		default:
			e.pages = append(e.pages, maphash.String(evidenceSeed, k.value))
		}
	}
	if at := slices.IndexFunc(dates, func(d ImportantDate) bool { return d.Kind == DateBirthday }); at >= 0 {
		e.birthday = [3]int16{int16(dates[at].Year), int16(dates[at].Month), int16(dates[at].Day)}
	}
	return e
}

// Evidence returns what is known about the person.
func (c *Connection) Evidence() Evidence {
	return EvidenceOf(names.Names{Full: c.Name, Nickname: c.Nickname}, c.Handles, c.Dates)
}

// Add adds what a further record of the same person says. The fuller name stays: it is incompatible
// with more names.
func (e *Evidence) Add(other *Evidence) {
	if len(e.Full) < len(other.Full) {
		e.Full = other.Full
	}
	for i, part := range other.birthday {
		if e.birthday[i] == 0 {
			e.birthday[i] = part
		}
	}
	e.emails, e.phones, e.pages = union(e.emails, other.emails), union(e.phones, other.phones), union(e.pages, other.pages)
}

func union(a, b []uint64) []uint64 {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

// Doubt says in a few words why two people with compatible names must not be taken for one person
// without asking; it is empty if nothing speaks against it. They may be relatives (names.Relatives),
// their birthdays contradict each other, or both have e-mail addresses and share no address at all.
func Doubt(a, b *Evidence) string {
	if why, ok := names.Relatives(a.Names, b.Names); ok {
		return why
	}
	for i, part := range a.birthday {
		if part != 0 && b.birthday[i] != 0 && part != b.birthday[i] {
			return "different birthdays"
		}
	}
	if len(a.emails) > 0 && len(b.emails) > 0 && !a.SharesAddress(b) {
		return "different e-mail addresses"
	}
	return ""
}

// SharesAddress reports whether two people have an e-mail address, a phone number or a page in
// common.
func (e *Evidence) SharesAddress(other *Evidence) bool {
	return overlap(e.emails, other.emails) || overlap(e.phones, other.phones) || overlap(e.pages, other.pages)
}

func overlap(a, b []uint64) bool {
	return slices.ContainsFunc(a, func(v uint64) bool { return slices.Contains(b, v) })
}
