package people

import "github.com/kith-crm/kith/backend/internal/text"

// This file lists the fields of a person one by one. The rest of the package goes
// through texts: a new text is added here, in Connection and in rpc.go.

// Draft is a person to be added.
type Draft struct {
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow string
	Emails, Phones, URLs, Tags                                        []string
	Starred                                                           bool
	Dates                                                             []DateDraft
	Source                                                            string
	// OnDuplicate is one of the OnDuplicate constants; empty means OnDuplicateReturn.
	OnDuplicate string
}

// Patch is what to change of a connection; nil fields stay as they are.
type Patch struct {
	ID string
	// ExpectedVersion refuses the patch when the connection has another one.
	ExpectedVersion                                                   *int32
	Name, Nickname, Organization, Title, Location, Bio, MetOn, MetHow *string
	Starred                                                           *bool
	// Emails, Phones, URLs and Tags replace the list on file unless empty.
	Emails, Phones, URLs, Tags Edit
	Dates                      DateEdit
}

// textField is a text of a person: its name in the contract, where it is, and how
// it is cleaned.
type textField struct {
	name  string
	value *string
	clean func(string) string
}

// texts lists the texts of a person, always in the same order.
func (c *Connection) texts() []textField {
	return []textField{
		{"name", &c.Name, text.Line},
		{"nickname", &c.Nickname, text.Line},
		{"location", &c.Location, text.Line},
		{"bio", &c.Bio, text.Clean},
		{"met_on", &c.MetOn, text.Line},
		{"met_how", &c.MetHow, text.Line},
	}
}

func (c *Connection) cleanTexts() {
	for _, t := range c.texts() {
		*t.value = t.clean(*t.value)
	}
}

// fields returns a connection with the draft's fields, without its lists.
func (d Draft) fields() *Connection {
	c := &Connection{
		Name: d.Name, Nickname: d.Nickname, Location: d.Location, Bio: d.Bio, MetOn: d.MetOn, MetHow: d.MetHow,
		Starred: d.Starred, Source: d.Source,
	}
	c.cleanTexts()
	return c
}

// applyFields sets the fields that the patch has, without its lists.
func (p Patch) applyFields(c *Connection) {
	set := func(field, value *string, clean func(string) string) {
		if value != nil {
			*field = clean(*value)
		}
	}
	set(&c.Name, p.Name, text.Line)
	set(&c.Nickname, p.Nickname, text.Line)
	set(&c.Location, p.Location, text.Line)
	set(&c.Bio, p.Bio, text.Clean)
	set(&c.MetOn, p.MetOn, text.Line)
	set(&c.MetHow, p.MetHow, text.Line)
	if p.Starred != nil {
		c.Starred = *p.Starred
	}
}
