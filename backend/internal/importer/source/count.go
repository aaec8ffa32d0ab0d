package source

import (
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
)

// Outcome is what became of a value of a file.
type Outcome int

// The outcomes. A value that was stored in part, and is in a note as a whole, is Noted; one that cannot be read is Unread, and in a
// note; Dropped ones say nothing of a person, are too large, or were left out by choice.
const (
	Stored Outcome = iota
	Noted
	Unread
	Dropped
)

// Value is what became of a value of a column of a table, or of a property of a card.
type Value struct {
	// Name is the column's header, shortened, or the property's name.
	Name string
	// Field is the name of one of Fields, or FieldKept.
	Field   string
	Outcome Outcome
}

// FieldKept is the field of properties of cards that Kith does not understand, but keeps for exports.
const FieldKept = "kept"

// count reads a value, and remembers what became of it.
func (d *draft) count(name, field string, read func()) {
	noted, unread := d.inNotes, d.unread
	read()
	v := Value{Name: name, Field: field}
	switch {
	case d.unread > unread:
		v.Outcome = Unread
	case d.inNotes > noted:
		v.Outcome = Noted
	}
	d.values = append(d.values, v)
}

// drop remembers that a value is left out.
func (d *draft) drop(name, field string) { d.values = append(d.values, Value{name, field, Dropped}) }

// recount does what can only be done when all values are read, and corrects the fates of the last values of the fields: of as
// many as are in notes only then.
func (d *draft) recount(finish func(), fields ...string) {
	noted, unread := d.inNotes, d.unread
	finish()
	noted, unread = d.inNotes-noted, d.unread-unread
	for i := len(d.values) - 1; i >= 0 && noted > 0; i-- {
		v := &d.values[i]
		base, _, _ := strings.Cut(v.Field, "_")
		if v.Outcome != Stored || !slices.Contains(fields, v.Field) && !slices.Contains(fields, base) {
			continue
		}
		v.Outcome = Noted
		if unread > 0 {
			v.Outcome = Unread
			unread--
		}
		noted--
	}
}

// fieldsOfProperties are the fields that properties of vCards and members of JSContact are stored in.
//
//nolint:gochecknoglobals // a constant
var fieldsOfProperties = wordsOf(map[string]string{
	"name": "FN name", "name_parts": "N", "nickname": "NICKNAME nicknames",
	"pronouns": "speakToAs", "key": "UID uid", "organization": "ORG organizations", "job_title": "TITLE ROLE titles",
	"email": "EMAIL emails", "phone": "TEL phones", "website": "URL links",
	"account": "IMPP SOCIALPROFILE X-SOCIALPROFILE X-SKYPE X-SKYPE-USERNAME X-JABBER X-AIM X-ICQ X-MSN X-YAHOO X-GADUGADU X-GROUPWISE X-MATRIX X-TELEGRAM X-SIGNAL X-WHATSAPP X-TWITTER X-MASTODON onlineServices",
	"address": "ADR LABEL addresses", "bio": "NOTE notes", "tags": "CATEGORIES keywords", "birthday": "BDAY", "anniversary": "ANNIVERSARY X-ANNIVERSARY X-EVOLUTION-ANNIVERSARY",
	"date": "X-ABDATE anniversaries", "deceased_on": "DEATHDATE X-DEATHDATE", "photo": "PHOTO media", "spouse": "X-SPOUSE X-EVOLUTION-SPOUSE X-KADDRESSBOOK-X-SPOUSENAME",
	"manager": "X-MANAGER X-EVOLUTION-MANAGER X-KADDRESSBOOK-X-MANAGERSNAME",
	"custom":  "X-KITH-FIELD kith:fields", "related": "RELATED X-ABRELATEDNAMES X-ASSISTANT X-EVOLUTION-ASSISTANT X-KADDRESSBOOK-X-ASSISTANTSNAME relatedTo",
})

// wordsOf returns the key of each word.
func wordsOf(words map[string]string) map[string]string {
	out := map[string]string{}
	for key, line := range words {
		for word := range strings.FieldsSeq(line) {
			out[word] = key
		}
	}
	for _, part := range new(people.NameParts).All() {
		if part.Property != "" {
			out[part.Property] = string(fieldOfPart(part))
		}
	}
	return out
}

// FieldLabel returns what people call the field of a Value; empty for none.
func FieldLabel(name string) string {
	switch name {
	case FieldKept:
		return "Kept for exports"
	case "name_parts":
		return "Parts of the name"
	case "photo":
		return "Photo"
	}
	f, _ := fieldNamed(name)
	return f.Label
}
