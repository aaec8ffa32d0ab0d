package sandbox

import (
	"embed"
	"io/fs"
)

//go:embed files/linkedin_connections.csv files/google_contacts.csv files/contacts_vcard21.vcf
var embedded embed.FS // read-only by its type

// Files returns the sample import files, at the root of a read-only file system:
//
//   - linkedin_connections.csv: UTF-8, a preamble before the header, mostly no e-mail
//   - google_contacts.csv: UTF-8, the current header, several values in one cell
//   - contacts_vcard21.vcf: vCard 2.1, CRLF, quoted-printable with soft line breaks
//
// The people in them are invented; a few are in two of the files.
func Files() fs.FS {
	sub, err := fs.Sub(embedded, "files")
	if err != nil { // only for an invalid path, and this one is a constant
		return embedded
	}
	return sub
}
