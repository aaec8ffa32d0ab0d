package index

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/people/cadence"
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
	Bio          string // up to 2,000 characters
	MetHow       string // how they met

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

	Starred  bool
	Archived bool // found only by a query for archived people
	Gone     bool // removes the document from the index

	LastInteractionAt time.Time // zero: never
	CreatedAt         time.Time

	// CadenceDays is the person's own keep-in-touch interval and GroupCadence the
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

// Date is a date in a person's life. Unknown parts are 0.
type Date struct {
	Year       int16
	Month, Day uint8
}

// on returns the day of the year as month * 100 + day; false when it is not known.
func (d Date) on() (int, bool) { return 100*int(d.Month) + int(d.Day), d.Month > 0 && d.Day > 0 }

// Cadence is how often the member wants to be in touch with the person.
func (d *Document) Cadence() cadence.Cadence {
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
	c.Dates = slices.Clone(d.Dates)
	for _, list := range []*[]string{&c.Emails, &c.Phones, &c.URLs, &c.Notes, &c.Interactions} {
		*list = slices.Clone(*list)
	}
	return &c
}

// textBytes estimates the memory of the texts, without those that are shared.
func (d *Document) textBytes() int64 {
	n := len(d.ID) + len(d.Name) + len(d.Nickname) + len(d.Bio) + len(d.MetHow)
	for _, list := range [][]string{d.Emails, d.Phones, d.URLs, d.Notes, d.Interactions} {
		for _, s := range list {
			n += stringBytes + len(s)
		}
	}
	return int64(n + stringBytes*(len(d.Organizations)+len(d.OtherTitles)+len(d.Tags)+2*len(d.Groups)))
}
