// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run 'TestKhard|TestBetweenServers'

package dav

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestKhard: khard lists the cards that vdirsyncer fetched from Kith, edits one and adds one. Values that khard does not know stay.
func TestKhard(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		grace := agent.Create(t, harness.Arguments{"name": "Grace Hopper", "emails": []string{"grace@navy.example"}, "tags": []string{"cobol"}, "met_how": "at a lecture"})
		agent.Call(t, "save_group", harness.Arguments{"name": "Rowing"})
		agent.Call(t, "update_membership", harness.Arguments{"connection_ids": []string{grace}, "add_groups": []string{"Rowing"}})
		f := newFolder(t, ada, newDevice(t, ada))
		f.run(t, "sync")

		config := f.config + "-khard"
		write(t, config, "[addressbooks]\n[[people]]\npath = "+f.path+"\n[general]\ndefault_action = list\n[vcard]\npreferred_version = 3.0\n")
		khard := func(input string, args ...string) string {
			return runPython(t, input, "khard", append([]string{"-c", config}, args...)...)
		}
		if list := khard("", "list", "--parsable"); !strings.Contains(list, "\tGrace Hopper\t") || !strings.Contains(list, "\tRowing\t") {
			t.Errorf("khard lists\n%s", list)
		}
		edit, added := f.config+"-edit", f.config+"-new"
		write(t, edit, "First name : Grace\nLast name : Hopper\nPhone :\n    cell : +1 202 555 0143\nEmail :\n    work : grace@yale.example\n")
		khard("y\n", "edit", "-i", edit, "Grace")
		write(t, added, "First name : Alan\nLast name : Turing\nEmail :\n    home : alan@bletchley.example\n")
		khard("y\n", "new", "-a", "people", "-i", added)
		f.run(t, "sync")
		f.run(t, "sync")

		if found := agent.Find(t, "alan@bletchley.example"); len(found) != 1 {
			t.Errorf("Kith has %v with the new card's address", found)
		}
		card := harness.Encode(t, agent.Call(t, "get_connection", harness.Arguments{"id": grace}))
		for _, value := range []string{"grace@yale.example", "0143", "cobol", "at a lecture", "Rowing"} {
			if !strings.Contains(card, value) {
				t.Errorf("no %q in %s", value, card)
			}
		}
		f.wantStill(t)
	})
}

// wantStill fails if vdirsyncer still moves something.
func (f folder) wantStill(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(f.run(t, "sync")) {
		if strings.Contains(line, "Copying") || strings.Contains(line, "Deleting") {
			t.Errorf("once more: %s", line)
		}
	}
}

// TestBetweenServers: vdirsyncer keeps Radicale and Kith equal. Both have people first, and both change afterwards.
func TestBetweenServers(t *testing.T) {
	t.Parallel()
	const each = 60
	books, s := startRadicale(t), harness.NewService(t, harness.SQLite)
	s.Start()
	ada := s.NewMember(t)
	agent := ada.Agent(t)
	uid := func(i int) string { return fmt.Sprintf("11111111-0000-4000-8000-%012d", i) }
	for i := range each {
		books.put(uid(i), fmt.Sprint("Ada Radicale", i), fmt.Sprintf("EMAIL;TYPE=WORK:ada%d@radicale.example", i), "X-OWN;X-P=1:as it is")
		agent.Create(t, harness.Arguments{"name": fmt.Sprint("Ben Kith", i), "emails": []string{fmt.Sprintf("ben%d@kith.example", i)}})
	}
	root := t.TempDir()
	f := folder{config: filepath.Join(root, "config")}
	write(t, f.config, fmt.Sprintf(`[general]
status_path = "%s/status"
[pair both]
a = "radicale"
b = "kith"
collections = ["people"]
[storage radicale]
type = "carddav"
url = "%s/"
username = "%s"
password = "%s"
[storage kith]
type = "carddav"
url = "%s/"
username = "%s"
password = "%s"
`, root, books.base, books.username, books.password, s.Base, ada.Username, newDevice(t, ada)))
	f.run(t, "discover")
	settle := func() {
		for range 3 {
			f.run(t, "sync")
		}
		f.wantStill(t)
	}
	settle()
	count := func() int { return strings.Count(books.send("REPORT", books.book, allCards), "END:VCARD") }
	if n := count(); n != 2*each {
		t.Fatalf("Radicale has %d cards", n)
	}
	if found := agent.Find(t, "Ada"); len(found) == 0 {
		t.Error("Kith has none of Radicale's people")
	}

	// Each side changes some, adds one and deletes one.
	for i := range 10 {
		books.put(uid(i), fmt.Sprint("Ada Radicale", i), fmt.Sprintf("EMAIL;TYPE=WORK:new%d@radicale.example", i), "X-OWN;X-P=1:as it is")
		ben := agent.Find(t, fmt.Sprintf("ben%d@kith.example", i))
		agent.Call(t, "update_connection", harness.Arguments{"id": ben[0], "add_phones": []string{fmt.Sprintf("+1 202 555 01%02d", i)}})
	}
	books.put(uid(each), "Cleo New")
	agent.Create(t, harness.Arguments{"name": "Dora New"})
	books.send("DELETE", books.book+uid(each-1)+".vcf", "")
	agent.Call(t, "delete_connection", harness.Arguments{"id": agent.Find(t, fmt.Sprintf("ben%d@kith.example", each-1))[0], "confirm_name": fmt.Sprint("Ben Kith", each-1)})
	settle()
	all := books.send("REPORT", books.book, allCards)
	if n := strings.Count(all, "END:VCARD"); n != 2*each {
		t.Errorf("Radicale has %d cards", n)
	}
	for i := range 10 {
		if !strings.Contains(strings.ReplaceAll(all, " ", ""), fmt.Sprintf("+120255501%02d", i)) {
			t.Errorf("Radicale has no number that ends in %d", i)
		}
		if len(agent.Find(t, fmt.Sprintf("new%d@radicale.example", i))) != 1 {
			t.Errorf("Kith has no new address %d", i)
		}
	}
	if n := strings.Count(all, "X-OWN;X-P=1:as it is"); n != each-1 {
		t.Errorf("%d cards have the property that nobody knows", n)
	}
	for _, name := range []string{"Cleo New", "Dora New"} {
		if len(agent.Find(t, name)) != 1 || !strings.Contains(all, "FN:"+name) {
			t.Errorf("%s is not on both sides", name)
		}
	}
}

// allCards asks for all cards of an address book.
const allCards = `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop><c:filter/></c:addressbook-query>`
