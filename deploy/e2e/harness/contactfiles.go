package harness

import (
	"fmt"
	"strings"
)

// ContactFile is a file of contacts, with the expected result when it is imported for a
// member without connections.
type ContactFile struct {
	Name, Content             string
	Created, Repeated, Failed int // Repeated counts rows of contacts who are in an earlier row
}

func (f ContactFile) Rows() int { return f.Created + f.Repeated + f.Failed }

// Intervals in rows: after how many rows of a generated file one repeats the contact of
// the first row, and after how many one has no name.
const (
	everyRepeated = 100
	everyNameless = 250
)

// Generate makes a file with the given number of rows.
func Generate(name, header string, rows int, row func(i int) string) ContactFile {
	f := ContactFile{Name: name}
	var b strings.Builder
	b.WriteString(header)
	nameless := strings.Repeat(",", strings.Count(row(0), ",")-1) + "nobody\n"
	for i := range rows {
		switch {
		case i%everyNameless == everyNameless-1:
			f.Failed++
			b.WriteString(nameless)
		case i%everyRepeated == everyRepeated-1:
			f.Repeated++
			b.WriteString(row(0))
		default:
			f.Created++
			b.WriteString(row(i))
		}
	}
	f.Content = b.String()
	return f
}

// GoogleFile returns a file with the columns of Google's export, each contact with an
// address and a phone number.
func GoogleFile(rows int) ContactFile {
	const header = "First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix,Nickname,File As," +
		"Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value\n"
	return Generate("contacts.csv", header, rows, func(i int) string {
		return fmt.Sprintf("Given%d,,Family%d,,,,,,,,Firm %d,Head of %d,,,,,* myContacts,,p%d@mail.example,,+1 415 2%06d\n", i, i%997, i%400, i%30, i, i)
	})
}

// NameFile returns a table of names with as many rows as an agent can pass.
func NameFile() ContactFile {
	const most = 1 << 20
	f := ContactFile{Name: "names.csv"}
	var b strings.Builder
	b.WriteString("Name\n")
	for row := ""; b.Len()+len(row) < most; f.Created++ {
		b.WriteString(row)
		row = fmt.Sprintf("Some One %d\n", 100_000+f.Created)
	}
	f.Created--
	f.Content = b.String()
	return f
}
