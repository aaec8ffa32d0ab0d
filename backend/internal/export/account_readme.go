package export

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// readmeText describes the files in the ZIP; its values are the username and the day.
const readmeText = `Everything that Kith keeps for %s, %s.

account.json             all of it: your people, notes, interactions, groups, reminders,
                         relationships, pairs that are not the same person, saved views and
                         changes, your profile, agents and tokens, and how often agents
                         read; not the photos
contacts.json            your people, archived ones too, with notes, interactions,
                         reminders, groups and photos; Kith reads it back, on the page Imports
                         or by import_file. Its list left_out says what is not in it.
contacts-2.json, ...     further people, where they do not fit into one import; import
                         these files one after the other. Two people in different files
                         who share an address are then taken for one.
contacts.csv             your people for spreadsheets and other programs
contacts.vcf             your people for address books (vCard 4.0)
contacts.jscontact.json  your people for newer programs (JSContact, RFC 9553)

Archived people are in account.json and contacts.json only. What was changed while this was written may
be in one file and not in another.
`

func (f *file) readme(a Account) error {
	out, err := f.begin("README.txt")
	if err != nil {
		return err
	}
	text := fmt.Sprintf(readmeText, a.Member.Username, f.now.Format(time.DateOnly))
	_, err = io.WriteString(out, strings.ReplaceAll(text, "\n", "\r\n")) // for any editor
	return err
}
