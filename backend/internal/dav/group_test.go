package dav_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
)

// groupCard returns the card of a group as macOS writes it.
func groupCard(uid, name string, members ...string) string {
	card := "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Apple Inc.//macOS 15.1//EN\r\nN:" + name + "\r\nFN:" + name + "\r\nX-ADDRESSBOOKSERVER-KIND:group\r\n"
	for _, m := range members {
		card += "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:" + m + "\r\n"
	}
	return card + "UID:" + uid + "\r\nEND:VCARD\r\n"
}

func personCard(uid, name string) string {
	return "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:" + uid + "\r\nFN:" + name + "\r\nN:" + strings.ReplaceAll(name, " ", ";") + ";;;\r\nEND:VCARD\r\n"
}

// groups returns each group with its people, such as "Rowing: Ada Berg, Ben Holm".
func (s *site) groups() (out []string) {
	s.Helper()
	list, err := groups.ListGroups(s.Context(), s.data())
	if err != nil {
		s.Fatal(err)
	}
	for _, g := range list {
		var names []string
		err := s.data().NewRaw(`SELECT c.name FROM group_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id
WHERE l.tenant_id = ? AND l.group_id = ? ORDER BY c.name`, s.owner, g.ID).Scan(s.Context(), &names)
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, g.Name+": "+strings.Join(names, ", "))
	}
	return out
}

func (s *site) wantGroups(want ...string) {
	s.Helper()
	if got := s.groups(); !slices.Equal(got, want) {
		s.Errorf("the groups are %q, not %q", got, want)
	}
}

// member adds a person to a group, which it makes if there is none, as the member does in Kith.
func (s *site) member(group, person string) {
	s.Helper()
	s.write(func(ctx context.Context, tx *db.Tx) error {
		saved, err := groups.Save(ctx, tx, groups.Patch{Name: &group})
		if err == nil {
			_, err = groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{person}, AddGroups: []string{saved.Group.ID}})
		}
		return err
	})
}

// TestGroupOfDevice: a group that a device makes, with somebody whose card it sends later; what it changes and deletes.
func TestGroupOfDevice(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		const path = book + "g.vcf"
		d.want(http.StatusCreated, "PUT", book+"ada.vcf", personCard("ADA-1", "Ada Berg"))
		d.want(http.StatusCreated, "PUT", path, groupCard("G-1", "Rowing", "ADA-1", "BEN-1"))
		s.wantGroups("Rowing: Ada Berg")
		// The device says it again, before it sends the missing card.
		d.want(http.StatusNoContent, "PUT", path, groupCard("G-1", "Rowing", "ADA-1", "BEN-1"))
		d.want(http.StatusCreated, "PUT", book+"ben.vcf", strings.Replace(personCard("BEN-1", "Ben Holm"), "UID:", "UID:urn:uuid:", 1))
		s.wantGroups("Rowing: Ada Berg, Ben Holm")

		got := d.want(http.StatusOK, "GET", path, "")
		for _, line := range []string{"UID:G-1", "FN:Rowing", "N:Rowing;;;;", "X-ADDRESSBOOKSERVER-KIND:group", "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:ADA-1", "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:BEN-1"} {
			if !strings.Contains(got.body, line+"\r\n") {
				t.Errorf("%s is missing in %s", line, got.body)
			}
		}
		v4 := d.want(http.StatusOK, "GET", path, "", "Accept", "text/vcard; version=4.0").body
		if !strings.Contains(v4, "VERSION:4.0\r\n") || !strings.Contains(v4, "\r\nKIND:group\r\nMEMBER:urn:uuid:ADA-1\r\n") {
			t.Errorf("version 4.0 is %s", v4)
		}

		d.want(http.StatusNoContent, "PUT", path, strings.Replace(groupCard("G-1", "Rowers", "BEN-1"), "UID:", "NOTE:On Mondays\r\nUID:", 1), "If-Match", got.header.Get("ETag"))
		s.wantGroups("Rowers: Ben Holm")
		if card := d.want(http.StatusOK, "GET", path, "").body; !strings.Contains(card, "NOTE:On Mondays\r\n") {
			t.Errorf("the note is missing in %s", card)
		}
		d.want(http.StatusPreconditionFailed, "DELETE", path, "", "If-Match", got.header.Get("ETag"))
		d.want(http.StatusNoContent, "DELETE", path, "")
		s.wantGroups()
		d.want(http.StatusNotFound, "GET", path, "")
		if len(s.all()) != 2 {
			t.Errorf("there are %d people", len(s.all()))
		}
		s.undo()
		s.wantGroups("Rowers: Ben Holm")
		d.want(http.StatusOK, "GET", path, "")
	})
}

// TestSyncOfGroups: a device learns of groups that change, and of those that are gone.
func TestSyncOfGroups(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		for _, readOnly := range []bool{false, true} {
			d := s.device(readOnly)
			person := s.person(people.Draft{Name: "Ada Berg"})
			_, before := d.sync("")
			s.member("Friends", person)
			first, token := d.sync("")
			var path string
			for href, etag := range first {
				if strings.Contains(href, "6b697468-0001-") {
					path = href
				}
				if etag == "" {
					t.Errorf("%s has no entity tag", href)
				}
			}
			if since, _ := d.sync(before); since[path] != first[path] || path == "" {
				t.Fatalf("since before the group there is %v, and at first %v", since, first)
			}
			if again, same := d.sync(token); len(again) != 0 || same != token {
				t.Errorf("nothing changed, and it has %v and %s after %s", again, same, token)
			}
			if listed := d.multi("PROPFIND", book, `<d:propfind xmlns:d="DAV:"><d:prop><d:getetag/></d:prop></d:propfind>`, "Depth", "1").etags(); listed[path] != first[path] {
				t.Errorf("a listing has %v", listed)
			}
			data := `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop><c:filter><c:prop-filter name="X-ADDRESSBOOKSERVER-KIND"/></c:filter></c:addressbook-query>`
			if m := d.multi("REPORT", book, data, "Depth", "1"); len(m.Responses) != 1 || !strings.Contains(m.Responses[0].PropStat[0].Prop.Data, "FN:Friends") {
				t.Errorf("a query for groups finds %+v", m)
			}

			s.write(archive(person))
			changed, next := d.sync(token)
			if changed[path] == "" || changed[path] == first[path] {
				t.Errorf("after its person was archived it is %v, and it was %v", changed, first)
			}
			s.undo()
			s.write(func(ctx context.Context, tx *db.Tx) error {
				g, err := groups.FindGroup(ctx, tx, "Friends")
				if err == nil {
					_, err = groups.Delete(ctx, tx, g.ID)
				}
				return err
			})
			if etag, found := changedOf(d, next)[path]; etag != "" || !found {
				t.Error("a group that is gone is not told")
			}
			s.undo()
			if etag := changedOf(d, next)[path]; etag != first[path] {
				t.Errorf("a restored group has %s, not %s", etag, first[path])
			}
			s.undo() // what the undo did
			s.write(archive(person))
		}
	})
}

func changedOf(d device, token string) map[string]string {
	changed, _ := d.sync(token)
	return changed
}

// TestGroupOfBoth: a device and the member change a group, and both changes stay.
func TestGroupOfBoth(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		const path = book + "g.vcf"
		for uid, name := range map[string]string{"ADA-1": "Ada Berg", "BEN-1": "Ben Holm"} {
			d.want(http.StatusCreated, "PUT", book+uid, personCard(uid, name))
		}
		d.want(http.StatusCreated, "PUT", path, groupCard("G-1", "Rowing", "ADA-1", "BEN-1"))
		old := d.want(http.StatusOK, "GET", path, "").header.Get("ETag")
		s.member("Rowing", s.person(people.Draft{Name: "Cleo Roth"}))
		// Thunderbird sends no entity tag.
		d.want(http.StatusNoContent, "PUT", path, groupCard("G-1", "Rowers", "ADA-1"))
		s.wantGroups("Rowers: Ada Berg, Cleo Roth")
		// The entity tag is of a card before: the device reads the group again, with what it changed.
		d.want(http.StatusPreconditionFailed, "PUT", path, groupCard("G-1", "Rowers", "ADA-1", "BEN-1"), "If-Match", old)
		s.wantGroups("Rowers: Ada Berg, Ben Holm, Cleo Roth")
		// A second device makes a group of the same name, which it had before.
		other := s.device(false)
		other.want(http.StatusCreated, "PUT", book+"h.vcf", groupCard("H-1", "rowers", "DORA-1"))
		other.want(http.StatusCreated, "PUT", book+"dora.vcf", personCard("DORA-1", "Dora Quist"))
		s.wantGroups("Rowers: Ada Berg, Ben Holm, Cleo Roth, Dora Quist")
		other.want(http.StatusNotFound, "GET", book+"h.vcf", "")

		// The member deletes the group. A device that changed nothing leaves it so; one that did makes it again.
		got := d.want(http.StatusOK, "GET", path, "")
		s.write(func(ctx context.Context, tx *db.Tx) error {
			g, err := groups.FindGroup(ctx, tx, "Rowers")
			if err == nil {
				_, err = groups.Delete(ctx, tx, g.ID)
			}
			return err
		})
		d.want(http.StatusPreconditionFailed, "PUT", path, got.body, "If-Match", got.header.Get("ETag"))
		s.wantGroups()
		d.want(http.StatusPreconditionFailed, "PUT", path, groupCard("G-1", "Rowing on Mondays", "BEN-1"), "If-Match", got.header.Get("ETag"))
		s.wantGroups("Rowing on Mondays: Ben Holm")
		d.want(http.StatusOK, "GET", path, "")
		// A group of the same name has a note, and keeps it.
		for name, note := range map[string]string{"i.vcf": "By the river", "j.vcf": "At six"} {
			card := strings.Replace(groupCard(name, "Running"), "UID:", "NOTE:"+note+"\r\nUID:", 1)
			d.want(http.StatusCreated, "PUT", book+name, card)
		}
		for _, note := range []string{"By the river", "At six"} {
			if list, err := groups.ListGroups(s.Context(), s.data()); err != nil || !strings.Contains(list[1].Description, note) {
				t.Errorf("the groups are %+v, %v", list, err)
			}
		}
	})
}

// TestGroupRefused: groups that cannot be stored, and cards of people and groups that would take each other's place.
func TestGroupRefused(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"ada.vcf", personCard("ADA-1", "Ada Berg"))
		d.want(http.StatusCreated, "PUT", book+"g.vcf", groupCard("G-1", "Rowing", "ADA-1"))
		d.want(http.StatusCreated, "PUT", book+"h.vcf", groupCard("H-1", "Chess"))
		for name, test := range map[string]struct {
			path, card, want string
			status           int
		}{
			"no name":                 {"i.vcf", groupCard("I-1", ""), "no name", http.StatusForbidden},
			"a long name":             {"i.vcf", groupCard("I-1", strings.Repeat("x", 81)), "80 characters", http.StatusForbidden},
			"the name of another one": {"h.vcf", groupCard("H-1", "Rowing"), "another group", http.StatusForbidden},
			"the place of a person":   {"ada.vcf", groupCard("ADA-1", "Ada"), "card of a person", http.StatusForbidden},
			"the UID of a person":     {"i.vcf", groupCard("ADA-1", "Ada"), "no-uid-conflict", http.StatusConflict},
			"a person for a group":    {"g.vcf", personCard("G-1", "Gus Berg"), "card of a group", http.StatusForbidden},
			"another UID":             {"g.vcf", groupCard("X-1", "Rowing", "ADA-1"), "no-uid-conflict", http.StatusConflict},
		} {
			if a := d.send("PUT", book+test.path, test.card); a.status != test.status || !strings.Contains(a.body, test.want) {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		s.wantGroups("Chess: ", "Rowing: Ada Berg")
		reader := s.device(true)
		reader.want(http.StatusForbidden, "PUT", book+"g.vcf", groupCard("G-1", "Rowers"))
		reader.want(http.StatusForbidden, "DELETE", book+"g.vcf", "")
		reader.want(http.StatusOK, "GET", book+"g.vcf", "")
	})
}
