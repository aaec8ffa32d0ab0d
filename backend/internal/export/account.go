package export

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// Format names the shape of account.json; a change that breaks readers counts it
// up.
const AccountFormat = "kith-export-1"

// partSize is how large a contacts.json grows before another one is begun, in bytes.
// Imports read 10 MiB: the rest is room for the page that goes beyond it.
const partSize = 6 << 20

// Account is what is on file about the member.
type Account struct {
	Member  *account.Member
	Profile *account.Profile
	Grants  []oauth.Grant
	Tokens  []account.PersonalToken
	Links   []signin.LinkedIdentity
}

// WriteAccount writes the ZIP. When it fails, what was written is no ZIP.
func WriteAccount(ctx context.Context, out io.Writer, a Account, data *db.Tenant, now time.Time) error {
	f := &file{archive: zip.NewWriter(out), now: now.UTC()}
	f.objects = func(each func(any) error) error { return Export(ctx, data, each) }
	f.people = func(withTimeline bool, each func(People) error) error {
		return ExportPeople(ctx, data, withTimeline, each)
	}
	return f.write(a)
}

func (f *file) write(a Account) error {
	if err := f.readme(a); err != nil {
		return err
	}
	if err := f.account(a); err != nil {
		return err
	}
	if err := f.documents(); err != nil {
		return err
	}
	for _, other := range []struct{ name, format string }{
		{"contacts.csv", CSV}, {"contacts.vcf", VCard}, {"contacts.jscontact.json", JSContact},
	} {
		if err := f.contacts(other.name, other.format); err != nil {
			return err
		}
	}
	return f.archive.Close()
}

// file is a ZIP that is written.
type file struct {
	archive *zip.Writer
	now     time.Time
	// objects and people read what the member has.
	objects func(each func(any) error) error
	people  func(withTimeline bool, each func(People) error) error
}

// begin begins a file in the ZIP, and ends the one before.
func (f *file) begin(name string) (io.Writer, error) {
	return f.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: f.now})
}

func (f *file) account(a Account) error {
	out, err := f.begin("account.json")
	if err != nil {
		return err
	}
	d := &document{out: out}
	d.begin(a.objects(f.now))
	if err := f.objects(d.object); err != nil {
		return err
	}
	return d.end()
}

// documents writes people, notes and interactions in as many files as it takes for
// each to be imported.
func (f *file) documents() error {
	part, err := f.part(1)
	if err != nil {
		return err
	}
	parts := 1
	err = f.people(true, func(page People) error {
		if part.Size() > partSize {
			if err := part.Close(); err != nil {
				return err
			}
			parts++
			if part, err = f.part(parts); err != nil {
				return err
			}
		}
		return part.Add(page)
	})
	if err != nil {
		return err
	}
	return part.Close()
}

// part begins the nth document.
func (f *file) part(n int) (*DocumentWriter, error) {
	name := "contacts.json"
	if n > 1 {
		name = fmt.Sprintf("contacts-%d.json", n)
	}
	out, err := f.begin(name)
	return NewDocument(out), err
}

// contacts writes everybody in another format.
func (f *file) contacts(name, format string) error {
	out, err := f.begin(name)
	if err != nil {
		return err
	}
	w, err := NewWriter(format, out)
	if err != nil {
		return err
	}
	if err := f.people(false, w.Add); err != nil {
		return err
	}
	return w.Close()
}
