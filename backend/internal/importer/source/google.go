package source

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
)

// googleMark begins labels that are preferred, and groups that Google keeps for
// itself.
const googleMark = "* "

// isNumbered tells the headers that only Google has, such as "E-mail 1 - Value".
func isNumbered(header string) bool {
	thing, _, part := numbered(header)
	switch part {
	case "Value", "Formatted", "Name", "Title":
		return thing != ""
	}
	return false
}

// numbered parts a header such as "E-mail 12 - Value".
func numbered(header string) (thing, number, part string) {
	head, part, ok := strings.Cut(header, " - ")
	at := strings.LastIndexByte(head, ' ')
	if !ok || at < 0 || strings.Trim(head[at+1:], "0123456789") != "" {
		return "", "", ""
	}
	return head[:at], head[at+1:], part
}

// google reads the numbered columns, of which there is no end, and finds the
// label of each: "Label" now, "Type" in older files.
func (l *layout) google() {
	l.rule, l.googleGroups = splitNothing, true
	labels := map[string]int{}
	for i, c := range l.columns {
		thing, number, part := numbered(c.header)
		switch {
		case thing == "":
		case part == "Label" || part == "Type" || part == "Service":
			labels[thing+number] = i
			l.columns[i].meaning = meaning{field: fieldIgnored}
		default:
			l.columns[i].meaning = meaning{field: googleField(thing, part)}
			l.columns[i].number = thing + number
		}
	}
	for i, c := range l.columns {
		if at, ok := labels[c.number]; ok && c.number != "" {
			l.columns[i].labelAt = at
		}
	}
	l.titlesAre(fieldNamePrefix)
}

func googleField(thing, part string) field {
	return map[string]field{
		"E-mail Value": fieldEmail, "Phone Value": fieldPhone, "Website Value": fieldWebAddress, "Event Value": fieldOtherDate,
		"Relation Value": fieldRelation, "Organization Name": fieldOrganization, "Organization Title": fieldJobTitle,
		"Address City": fieldCity, "Address Region": fieldRegion, "Address Country": fieldCountry,
		"Address Street": fieldStreet, "Address Formatted": fieldWholeAddress,
	}[thing+" "+part]
}

// googleLabel takes the mark off a label and writes those of Google's own as they
// are written here; it tells whether the mark was there.
func googleLabel(label string) (string, int) {
	bare, marked := strings.CutPrefix(label, googleMark)
	switch lower := strings.ToLower(bare); lower {
	case "home", "work", "mobile", "main", "other", "pager", "home fax", "work fax", "profile", "blog", "home page", "homepage":
		bare = lower
	}
	if marked {
		return bare, 1
	}
	return bare, 0
}

// googleGroup adds a group of the member's own. Of Google's, those say something
// that people are put into by hand: the stars, friends, family and coworkers.
func (d *draft) googleGroup(name string) {
	own, isSystem := strings.CutPrefix(name, googleMark)
	if !isSystem {
		d.group(name)
		return
	}
	switch strings.ToLower(own) {
	case "starred":
		d.Starred = true
	case "friends", "family", "coworkers":
		d.group(own)
	}
}

// relationOf returns what a word for a relation is here.
func relationOf(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "spouse", "partner", "domestic partner", "husband", "wife", "sweetheart", "date":
		return people.RelationSpouse
	case "parent", "mother", "father":
		return people.RelationParent
	case "child", "son", "daughter":
		return people.RelationChild
	case "sibling", "brother", "sister":
		return people.RelationSibling
	case "manager", "boss":
		return people.RelationManager
	case "friend":
		return people.RelationFriend
	case "colleague", "co-worker", "coworker":
		return people.RelationColleague
	case "introduced_by", "referred by", "referredby":
		return people.RelationIntroducedBy
	}
	return people.RelationOther
}
