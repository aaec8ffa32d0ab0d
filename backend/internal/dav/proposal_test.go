package dav_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

func (s *site) who() *tenant.Principal {
	return &tenant.Principal{Tenant: s.owner, Username: "vera", DisplayName: "vera"}
}

// waiting returns the proposals that wait.
func (s *site) waiting() []dav.Proposal {
	s.Helper()
	waiting, _, err := dav.ListProposals(s.Context(), s.data(), 10)
	if err != nil {
		s.Fatal(err)
	}
	return waiting
}

// approve approves the only proposal that waits.
func (s *site) approve() (changeID string) {
	s.Helper()
	waiting := s.waiting()
	if len(waiting) != 1 {
		s.Fatalf("%d proposals wait", len(waiting))
	}
	s.write(func(ctx context.Context, tx *db.Tx) (err error) {
		changeID, err = dav.Approve(ctx, tx, s.who(), waiting[0].ID)
		return err
	})
	return changeID
}

// update changes the only person, as the member.
func (s *site) update(p people.Patch) {
	s.Helper()
	p.ID = s.one().ID
	s.write(func(ctx context.Context, tx *db.Tx) error {
		_, err := people.Update(ctx, tx, p)
		return err
	})
}

// given returns how many cards devices have.
func (s *site) given() (n int) {
	s.Helper()
	if err := s.data().NewRaw("SELECT count(*) FROM device_cards WHERE tenant_id = ?", s.owner).Scan(s.Context(), &n); err != nil {
		s.Fatal(err)
	}
	return n
}

// card returns the card of the only person as a device reads it, without what Kith alone writes.
func (d device) card() (path, etag, text string) {
	d.Helper()
	m := d.multi("REPORT", book, `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop><c:filter/></c:addressbook-query>`, "Depth", "1")
	if len(m.Responses) != 1 {
		d.Fatalf("the cards are %+v", m)
	}
	prop := m.Responses[0].PropStat[0].Prop
	return m.Responses[0].Href, prop.ETag, prop.Data
}

// TestThreeWayMerge: a device that sends no If-Match changes what it changed, and keeps what others changed since it got the card.
func TestThreeWayMerge(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		s.person(people.Draft{Name: "Otto Berg", Nickname: "Otti", Bio: "Plays chess", Emails: []string{"otto@berg.example"}, Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1980-05-01"}}})
		path, _, text := d.card()
		if s.given() != 1 {
			t.Errorf("devices have %d cards", s.given())
		}
		s.device(true).card() // one that only reads sends nothing back
		if s.given() != 1 {
			t.Errorf("devices have %d cards", s.given())
		}
		edit := func(pairs ...string) {
			t.Helper()
			edited := strings.NewReplacer(pairs...).Replace(text)
			if edited == text {
				t.Fatalf("nothing of %v is in %s", pairs, text)
			}
			d.want(http.StatusNoContent, "PUT", path, edited)
		}
		s.update(people.Patch{Nickname: new("Ottokar"), Emails: people.Edit{Add: []string{"new@berg.example"}}})
		edit("Plays chess", "Plays go", "EMAIL", "TEL:+49 30 5550100\r\nEMAIL")
		c := s.one()
		if c.Nickname != "Ottokar" || c.Bio != "Plays go" || len(c.Values(people.KindEmail)) != 2 || len(c.Values(people.KindPhone)) != 1 {
			t.Errorf("the merged person is %+v", c)
		}
		if n := len(s.waiting()); n > 0 {
			t.Errorf("%d proposals wait", n)
		}
		// It sends its card again, which still has the former nickname: nothing changes.
		version := c.Version
		edit("Plays chess", "Plays go", "EMAIL", "TEL:+49 30 5550100\r\nEMAIL")
		if c := s.one(); c.Version != version {
			t.Errorf("the same card again made %+v", c)
		}
		// Both change the birthday and the bio: what is stored stays, and the other is a proposal.
		_, _, text = d.card()
		s.update(people.Patch{Bio: new("Plays poker"), Dates: people.DateEdit{Replace: []people.DateDraft{{Kind: people.DateBirthday, Date: "1980-05-03"}}}})
		edit("Plays go", "Plays bridge", "1980-05-01", "1980-05-02", "NICKNAME:Ottokar", "NICKNAME:O.")
		c = s.one()
		if c.Bio != "Plays poker" || c.Nickname != "O." || len(c.Dates) != 1 || c.Dates[0].Day != 3 {
			t.Errorf("after the conflict it is %+v", c)
		}
		waiting := s.waiting()
		if len(waiting) != 1 || waiting[0].Fields != "bio\nimportant_dates" || waiting[0].DeviceName != "Phone" {
			t.Fatalf("what waits is %+v", waiting)
		}
		preview, err := waiting[0].Preview(t.Context(), s.data(), s.who())
		if err != nil || len(preview.Effects) != 1 || !strings.Contains(string(preview.Effects[0].After), "Plays bridge") || !strings.Contains(string(preview.Effects[0].Before), "Plays poker") {
			t.Errorf("the preview is %+v, %v", preview, err)
		}
		s.update(people.Patch{Nickname: new("Oz")})
		if s.approve() == "" {
			t.Error("nothing was changed")
		}
		c = s.one()
		if c.Bio != "Plays bridge" || c.Nickname != "Oz" || len(c.Dates) != 1 || c.Dates[0].Day != 2 {
			t.Errorf("after the approval it is %+v", c)
		}
		s.undo()
		if c = s.one(); c.Bio != "Plays poker" || c.Dates[0].Day != 3 {
			t.Errorf("after the undo it is %+v", c)
		}
		if err := account.RemoveDevice(t.Context(), s.store, s.owner, d.id); err != nil {
			t.Fatal(err)
		}
		if s.given() != 0 {
			t.Errorf("a removed device has %d cards", s.given())
		}
	})
}

// TestRefusedCards: a card that is refused because of a condition is a proposal, once.
func TestRefusedCards(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		s.person(people.Draft{Name: "Otto Berg", Bio: "Plays chess"})
		path, etag, text := d.card()
		s.update(people.Patch{Nickname: new("Otti"), Bio: new("Plays poker")})
		edited := strings.Replace(text, "Plays chess", "Plays go", 1)
		for range 2 {
			d.want(http.StatusPreconditionFailed, "PUT", path, edited, "If-Match", etag)
		}
		if c := s.one(); c.Bio != "Plays poker" {
			t.Errorf("a refused card made %+v", c)
		}
		refused := s.waiting()[0].ID
		exported, err := export.ReadAccount(t.Context(), s.store, s.data(), s.owner)
		if err != nil || len(exported.Proposals) != 1 || exported.Proposals[0].ID != refused || exported.Proposals[0].Card != edited {
			t.Errorf("the export has %+v, %v", exported.Proposals, err)
		}
		otto := dbtest.Member(t, s.store, "otto")
		if others, err := export.ReadAccount(t.Context(), s.store, s.store.Tenant(otto, true), otto); err != nil || len(others.Proposals) != 0 {
			t.Errorf("the export of another member has %+v, %v", others.Proposals, err)
		}
		s.write(func(ctx context.Context, tx *db.Tx) error { return dav.Refuse(ctx, tx, refused) })
		d.want(http.StatusPreconditionFailed, "PUT", path, edited, "If-Match", etag)
		if n := len(s.waiting()); n != 0 {
			t.Errorf("%d proposals wait after the member refused it", n)
		}
		s.write(func(ctx context.Context, tx *db.Tx) error {
			_, err := dav.Approve(ctx, tx, s.who(), refused)
			return err
		})
		if c := s.one(); c.Bio != "Plays go" || c.Nickname != "Otti" {
			t.Errorf("after the approval it is %+v", c)
		}
		if err := s.data().Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error { return dav.Refuse(ctx, tx, refused) }); err == nil {
			t.Error("an approved proposal can be refused")
		}
		// A card with the UID of another one adds to that one; what the card has already is no proposal.
		d.want(http.StatusConflict, "PUT", book+"other.vcf", text)
		if n := len(s.waiting()); n != 0 {
			t.Errorf("%d proposals say what is known", n)
		}
		_, _, text = d.card()
		d.want(http.StatusConflict, "PUT", book+"other.vcf", strings.Replace(text, "END:VCARD", "TEL:+49 30 5550100\r\nEND:VCARD", 1))
		s.approve()
		if c := s.one(); len(c.Values(people.KindPhone)) != 1 || c.Nickname != "Otti" {
			t.Errorf("after the approval it is %+v", c)
		}
	})
}

// TestRefusedCardOfTheDeleted: what a device changed of somebody who was deleted waits, and goes with them.
func TestRefusedCardOfTheDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		id := s.person(people.Draft{Name: "Otto Berg"})
		path, etag, text := d.card()
		remove := func() {
			s.write(func(ctx context.Context, tx *db.Tx) error {
				_, err := people.DeleteConnections(ctx, tx, kinds.All(), id)
				return err
			})
		}
		remove()
		if s.given() != 0 {
			t.Errorf("devices have %d cards of nobody", s.given())
		}
		d.want(http.StatusPreconditionFailed, "PUT", path, strings.Replace(text, "END:VCARD", "TEL:+49 30 5550100\r\nEND:VCARD", 1), "If-Match", etag)
		if s.approve() == "" || s.one().ID == id || len(s.one().Values(people.KindPhone)) != 1 {
			t.Errorf("the approval adds %+v", s.one())
		}
		d.want(http.StatusPreconditionFailed, "PUT", path, strings.Replace(text, "END:VCARD", "TEL:+49 30 5550101\r\nEND:VCARD", 1), "If-Match", etag)
		if len(s.waiting()) != 1 {
			t.Fatal("nothing waits")
		}
		s.write(func(ctx context.Context, tx *db.Tx) error { return history.Forget(ctx, tx, []string{id}) })
		if len(s.waiting()) != 0 {
			t.Error("a proposal about somebody who was deleted for good waits")
		}
	})
}

// TestProposalsAreBounded: a device keeps what does not fit.
func TestProposalsAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		s.person(people.Draft{Name: "Otto Berg"})
		path, etag, text := d.card()
		s.update(people.Patch{Nickname: new("Otti")})
		var statuses []int
		for i := range 101 {
			a := d.send("PUT", path, strings.Replace(text, "END:VCARD", "NICKNAME:"+strings.Repeat("o", i+1)+"\r\nEND:VCARD", 1), "If-Match", etag)
			statuses = append(statuses, a.status)
		}
		if n := len(s.waiting()); n != 100 || statuses[99] != http.StatusPreconditionFailed || statuses[100] != http.StatusInsufficientStorage {
			t.Errorf("%d wait, and the statuses are %v", n, slices.Compact(statuses))
		}
		otto := s.deviceOf(s.owner, "vera", false)
		otto.card()
		if s.given() != 2 {
			t.Errorf("devices have %d cards", s.given())
		}
	})
}
