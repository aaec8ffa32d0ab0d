package export

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// AccountFormat is the version of the structure of account.json. A change that breaks readers
// increments it.
const AccountFormat = "kith-export-1"

// partSize is the size, in bytes, at which a contacts.json ends and another one begins.
// Imports read 10 MiB: the difference is room for the last page.
const partSize = 6 << 20

// Account is the stored data about the member.
type Account struct {
	Member  *account.Member
	Profile *account.Profile
	Grants  []oauth.Grant
	Tokens  []account.PersonalToken
	Links   []signin.LinkedIdentity
	// Reads are how often agents read, by day.
	Reads []billing.Reads
	// Decisions are the calls of agents that the member was asked about first.
	Decisions []decision.Decision
}

// ReadAccount reads what is stored about a member, whose data is given, or fails with fault.NotFound.
func ReadAccount(ctx context.Context, s *db.DB, data *db.Tenant, owner tenant.ID) (a Account, err error) {
	if a.Member, err = account.GetMemberByID(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Profile, err = account.GetProfile(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Grants, err = oauth.ListGrants(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Tokens, err = account.ListPersonalTokens(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Links, err = signin.ListIdentities(ctx, s, owner); err != nil {
		return a, err
	}
	if a.Reads, err = billing.ListReads(ctx, data, time.Time{}); err != nil {
		return a, err
	}
	a.Decisions, err = decision.List(ctx, data)
	return a, err
}

// WriteAccount writes the ZIP. After an error, the output is not a valid ZIP.
func WriteAccount(ctx context.Context, out io.Writer, a Account, data *db.Tenant, now time.Time) error {
	f := &file{archive: zip.NewWriter(out), now: now.UTC()}
	f.objects = func(each func(any) error) error { return Export(ctx, data, each) }
	f.people = func(withTimeline, withPhotos bool, each func(People) error) error {
		return ExportPeople(ctx, data, withTimeline, withPhotos, each)
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

// file is a ZIP that is being written.
type file struct {
	archive *zip.Writer
	now     time.Time
	// objects and people read the member's data.
	objects func(each func(any) error) error
	people  func(withTimeline, withPhotos bool, each func(People) error) error
}

// begin begins a file in the ZIP, and ends the previous one.
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

// documents writes people, notes and interactions in as many files as necessary, so that
// each can be imported.
func (f *file) documents() error {
	part, err := f.part(1)
	if err != nil {
		return err
	}
	parts := 1
	err = f.people(true, true, func(page People) error {
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

// contacts writes all people in another format.
func (f *file) contacts(name, format string) error {
	out, err := f.begin(name)
	if err != nil {
		return err
	}
	w, err := NewWriter(format, out)
	if err != nil {
		return err
	}
	if err := f.people(false, format == VCard, w.Add); err != nil {
		return err
	}
	return w.Close()
}
