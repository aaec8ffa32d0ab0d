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

// Format names the shape of account.json. A change that breaks readers increments its
// number.
const Format = "kith-export-1"

// partSize is the size in bytes above which a contacts.json takes no further page.
// Imports read 10 MiB: the rest is room for the last page.
const partSize = 6 << 20

// Account is the member's account.
type Account struct {
	Member  *member.Member
	Profile *profile.Profile
	Grants  []grant.Grant
	Tokens  []token.PersonalToken
	Links   []provider.LinkedIdentity
}

// Data reads what the member has.
type Data interface {
	// Export calls each with every object that the member has, list by list.
	Export(ctx context.Context, each func(object any) error) error
	// ExportPeople calls each with all people, page by page, in the order of their ids.
	// With withTimeline, archived people are included, and notes and interactions come
	// with each page that has one of their people.
	ExportPeople(ctx context.Context, withTimeline bool, each func(page cardfile.People) error) error
}

// Write writes the ZIP. When it fails, the bytes written so far are no valid ZIP.
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

// file is the ZIP being written.
type file struct {
	archive *zip.Writer
	data    Data
	now     time.Time
}

// begin begins a file in the ZIP and ends the one before.
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

// documents writes as many contacts.json files as are needed for each to be small enough
// to import.
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

// contacts writes all people in another format.
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
