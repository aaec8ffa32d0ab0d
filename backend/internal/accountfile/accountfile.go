package accountfile

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kith-crm/kith/backend/internal/cardfile"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/token"
)

// Format names the shape of account.json; a change that breaks readers counts it
// up.
const Format = "kith-export-1"

// partSize is how large a contacts.json grows before another one is begun, in bytes.
// Imports read 10 MiB: the rest is room for the page that goes beyond it.
const partSize = 6 << 20

// Account is what is on file about the member.
type Account struct {
	Member  *member.Member
	Profile *profile.Profile
	Grants  []grant.Grant
	Tokens  []token.PersonalToken
	Links   []provider.LinkedIdentity
}

// Data is what the member keeps.
type Data interface {
	// Export hands everything that the member keeps to each, one object at a time,
	// list after list.
	Export(ctx context.Context, each func(object any) error) error
	// ExportPeople hands everybody who is not archived to each, some at a time, in
	// the order of their ids, with or without notes and interactions. Those of people
	// on several pages come with each.
	ExportPeople(ctx context.Context, withTimeline bool, each func(page cardfile.People) error) error
}

// Write writes the ZIP. When it fails, what was written is no ZIP.
func Write(ctx context.Context, out io.Writer, a Account, data Data, now time.Time) error {
	f := &file{archive: zip.NewWriter(out), data: data, now: now.UTC()}
	if err := f.readme(a); err != nil {
		return err
	}
	if err := f.account(ctx, a); err != nil {
		return err
	}
	if err := f.documents(ctx); err != nil {
		return err
	}
	for _, other := range []struct{ name, format string }{
		{"contacts.csv", cardfile.CSV}, {"contacts.vcf", cardfile.VCard}, {"contacts.jscontact.json", cardfile.JSContact},
	} {
		if err := f.contacts(ctx, other.name, other.format); err != nil {
			return err
		}
	}
	return f.archive.Close()
}

// file is a ZIP that is written.
type file struct {
	archive *zip.Writer
	data    Data
	now     time.Time
}

// begin begins a file in the ZIP, and ends the one before.
func (f *file) begin(name string) (io.Writer, error) {
	return f.archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: f.now})
}

func (f *file) account(ctx context.Context, a Account) error {
	out, err := f.begin("account.json")
	if err != nil {
		return err
	}
	d := &document{out: out}
	d.begin(a.objects(f.now))
	if err := f.data.Export(ctx, d.object); err != nil {
		return err
	}
	return d.end()
}

// documents writes people, notes and interactions in as many files as it takes for
// each to be imported.
func (f *file) documents(ctx context.Context) error {
	part, err := f.part(1)
	if err != nil {
		return err
	}
	parts := 1
	err = f.data.ExportPeople(ctx, true, func(page cardfile.People) error {
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
func (f *file) part(n int) (*cardfile.DocumentWriter, error) {
	name := "contacts.json"
	if n > 1 {
		name = fmt.Sprintf("contacts-%d.json", n)
	}
	out, err := f.begin(name)
	return cardfile.NewDocument(out), err
}

// contacts writes everybody in another format.
func (f *file) contacts(ctx context.Context, name, format string) error {
	out, err := f.begin(name)
	if err != nil {
		return err
	}
	w, err := cardfile.NewWriter(format, out)
	if err != nil {
		return err
	}
	if err := f.data.ExportPeople(ctx, false, w.Add); err != nil {
		return err
	}
	return w.Close()
}
