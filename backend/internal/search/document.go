package search

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Document is what the index knows of one connection. Only ID is required.
// Put copies the document and its slices; the strings themselves are shared.
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

	Organizations []string // all, past ones too
	Emails        []string // as entered, like phones and URLs; normalised inside
	Phones        []string
	URLs          []string
	Tags          []string
	Groups        []string
	Notes         []string // bodies, each up to 20,000 characters
	Interactions  []string // summaries

	Starred  bool
	Archived bool // an archived document is not held at all

	LastInteractionAt time.Time // zero: never
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// ranked is a document with the key that orders and identifies its name.
type ranked struct {
	doc *Document
	key string // folded words of the name, joined by one space
}

// compareRank is the order among equally scored documents: starred, the more
// recent contact, name, id. Ids are unique, so the order is total.
func compareRank(a, b ranked) int {
	if a.doc.Starred != b.doc.Starred {
		if a.doc.Starred {
			return -1
		}
		return 1
	}
	if c := b.doc.LastInteractionAt.Compare(a.doc.LastInteractionAt); c != 0 {
		return c
	}
	return compareName(a, b)
}

// keyedRank has at hand what nearly always decides compareRank: to look into the
// documents takes most of the time that it takes to sort them.
type keyedRank struct {
	ranked

	contact int64  // when, in seconds, or never
	prefix  uint64 // the beginning of the name's key, in its order
}

const never = math.MinInt64

func keyRank(r ranked) keyedRank {
	k := keyedRank{ranked: r, contact: never}
	if !r.doc.LastInteractionAt.IsZero() {
		k.contact = r.doc.LastInteractionAt.Unix()
	}
	if r.doc.Starred {
		k.contact = math.MaxInt64 // they are few
	}
	var first [8]byte
	copy(first[:], r.key)
	k.prefix = binary.BigEndian.Uint64(first[:])
	return k
}

// compareKeyedRank is compareRank.
func compareKeyedRank(a, b keyedRank) int {
	switch {
	case a.contact != b.contact:
		return cmp.Compare(b.contact, a.contact)
	case a.contact == never && a.prefix != b.prefix:
		return cmp.Compare(a.prefix, b.prefix)
	}
	return compareRank(a.ranked, b.ranked)
}

func compareName(a, b ranked) int {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c
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

// keep copies d, so that later changes of the caller's slices do not show.
func (in interner) keep(d *Document) *Document {
	c := *d
	c.Headline, c.Organization = in.share(d.Headline), in.share(d.Organization)
	c.Title, c.Location = in.share(d.Title), in.share(d.Location)
	c.Organizations = in.shareAll(d.Organizations)
	c.Tags, c.Groups = in.shareAll(d.Tags), in.shareAll(d.Groups)
	for _, list := range []*[]string{&c.Emails, &c.Phones, &c.URLs, &c.Notes, &c.Interactions} {
		*list = slices.Clone(*list)
	}
	return &c
}

// bytes estimates what the document holds, without the text of shared strings.
func (d *Document) bytes() int64 {
	n := int(unsafe.Sizeof(*d)) + len(d.ID) + len(d.Name) + len(d.Nickname) + len(d.Bio) + len(d.MetHow)
	for _, list := range [][]string{d.Emails, d.Phones, d.URLs, d.Notes, d.Interactions} {
		for _, s := range list {
			n += stringHeader + len(s)
		}
	}
	n += stringHeader * (len(d.Organizations) + len(d.Tags) + len(d.Groups))
	return int64(n)
}

const stringHeader = int(unsafe.Sizeof(""))
