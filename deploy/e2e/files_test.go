package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// peopleFile is a file of people, and what becomes of its rows when it is imported
// for a member who knows nobody.
type peopleFile struct {
	name, content          string
	created, again, failed int // again are rows of people who were in rows before
}

func (f peopleFile) rows() int { return f.created + f.again + f.failed }

// Every so many rows of a generated file there is one of somebody who was in the
// first row, and one of nobody.
const (
	everyAgain  = 100
	everyNobody = 250
)

// generate makes a file of so many rows.
func generate(name, header string, rows int, row func(i int) string) peopleFile {
	f := peopleFile{name: name}
	var b strings.Builder
	b.WriteString(header)
	nobody := strings.Repeat(",", strings.Count(row(0), ",")-1) + "nobody\n"
	for i := range rows {
		switch {
		case i%everyNobody == everyNobody-1:
			f.failed++
			b.WriteString(nobody)
		case i%everyAgain == everyAgain-1:
			f.again++
			b.WriteString(row(0))
		default:
			f.created++
			b.WriteString(row(i))
		}
	}
	f.content = b.String()
	return f
}

// googleFile has the columns of Google's export of people with an address and a
// phone number each.
func googleFile(rows int) peopleFile {
	const header = "First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix,Nickname,File As," +
		"Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value\n"
	return generate("contacts.csv", header, rows, func(i int) string {
		return fmt.Sprintf("Given%d,,Family%d,,,,,,,,Firm %d,Head of %d,,,,,* myContacts,,p%d@mail.example,,+1 415 2%06d\n", i, i%997, i%400, i%30, i, i)
	})
}

// linkedInFile has what LinkedIn writes before its columns, too.
func linkedInFile(rows int) peopleFile {
	const header = "Notes:\n\"When exporting your connection data, you may notice that some of the email addresses are missing.\"\n\n" +
		"First Name,Last Name,URL,Email Address,Company,Position,Connected On\n"
	return generate("Connections.csv", header, rows, func(i int) string {
		return fmt.Sprintf("Given%d,Family%d,https://www.linkedin.com/in/person-%d,,Company %d,Head of Something %d,02 Jan 2024\n", i, i%997, i, i%400, i%30)
	})
}

// keep writes the file to where a browser can take it from.
func (f peopleFile) keep(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), f.name)
	if err := os.WriteFile(path, []byte(f.content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
