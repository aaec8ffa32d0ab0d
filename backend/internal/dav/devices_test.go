package dav_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

// phone is a device with cards of its own, which a person edits, and which it synchronises.
type phone struct {
	device

	world *world
	home  string
	token string
	cards map[string]*local
	// careful is set for a device that sends If-Match, and takes the card of the server after a 412, as DAVx⁵ does. Others send no
	// conditions, as Thunderbird does.
	careful bool
}

// local is a card on a device.
type local struct {
	text, etag             string
	added, edited, deleted bool
	tried                  bool // it was sent, perhaps with success
}

// world is a member with two devices, and everything that anybody typed.
type world struct {
	*site
	*rapid.T

	phones []*phone
	typed  map[string]bool // the words that came to the server
	words  int
}

var typedWord = regexp.MustCompile(`word\d+x`)

// word returns a word that nobody typed before.
func (w *world) word() string {
	w.words++
	return fmt.Sprintf("word%dx", w.words)
}

// sent notes the words of a text that came to the server.
func (w *world) sent(text string) {
	for _, word := range typedWord.FindAllString(unfolded(text), -1) {
		w.typed[word] = true
	}
}

func unfolded(card string) string {
	return strings.NewReplacer("\r\n ", "", "\r\n\t", "").Replace(card)
}

// hrefs returns the addresses of the cards of a device, of groups or of people, in order.
func (p *phone) hrefs(ofGroups bool) (out []string) {
	for href, c := range p.cards {
		if strings.Contains(c.text, "KIND:group") == ofGroups && !c.deleted {
			out = append(out, href)
		}
	}
	slices.Sort(out)
	return out
}

// draw returns one of some values; "" if there are none.
func (w *world) draw(name string, from []string) string {
	if len(from) == 0 {
		return ""
	}
	return rapid.SampledFrom(from).Draw(w.T, name)
}

// set sets the first line of a property, or adds it.
func (c *local) set(property, value string) {
	lines := strings.Split(strings.TrimSuffix(unfolded(c.text), "\r\n"), "\r\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, property+":") })
	if at >= 0 {
		lines[at] = property + ":" + value
	} else {
		lines = slices.Insert(lines, len(lines)-1, property+":"+value)
	}
	c.text, c.edited = strings.Join(lines, "\r\n")+"\r\n", true
}

// edit does something on the device.
func (p *phone) edit() {
	w := p.world
	kind := rapid.SampledFrom([]string{"new", "new group", "edit", "edit", "edit", "join", "leave", "name", "note", "delete"}).Draw(w.T, "what")
	uid := fmt.Sprintf("%08d-0000-4000-8000-%012d", len(w.typed), w.words)
	switch kind {
	case "new":
		p.cards[p.home+uid+".vcf"] = &local{text: personCard(uid, "Ada "+w.word()), added: true, edited: true}
		w.words++
	case "new group":
		p.cards[p.home+uid+".vcf"] = &local{text: groupCard(uid, "Group "+w.word()), added: true, edited: true}
		w.words++
	case "edit":
		if href := w.draw("card", p.hrefs(false)); href != "" {
			property := rapid.SampledFrom([]string{"NICKNAME", "NOTE", "TITLE", "X-FOREIGN", "EMAIL"}).Draw(w.T, "property")
			value := w.word()
			if property == "EMAIL" {
				value += "@people.example"
			}
			p.cards[href].set(property, value)
		}
	case "name", "note":
		if href := w.draw("group", p.hrefs(true)); href != "" {
			word := w.word()
			for _, property := range map[string][]string{"name": {"FN", "N"}, "note": {"NOTE"}}[kind] {
				p.cards[href].set(property, word)
			}
		}
	case "join", "leave":
		group, href := w.draw("group", p.hrefs(true)), w.draw("person", p.hrefs(false))
		if group == "" || href == "" {
			return
		}
		c, member := p.cards[group], "X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:"+uidIn(p.cards[href].text)+"\r\n"
		c.text, c.edited = strings.Replace(unfolded(c.text), member, "", 1), true
		if kind == "join" {
			c.text = strings.Replace(c.text, "END:VCARD", member+"END:VCARD", 1)
		}
	case "delete":
		if href := w.draw("card", append(p.hrefs(false), p.hrefs(true)...)); href != "" {
			p.cards[href].deleted = true
		}
	}
}

func uidIn(card string) string {
	_, uid, _ := strings.Cut(card, "\r\nUID:")
	uid, _, _ = strings.Cut(uid, "\r\n")
	return strings.TrimPrefix(uid, "urn:uuid:")
}

// lost decides whether the answer to a request is lost.
func (w *world) lost(mayLose bool) bool {
	return mayLose && rapid.IntRange(0, 3).Draw(w.T, "lost") == 0
}

// push sends what was edited on the device.
func (p *phone) push(mayLose bool) {
	w := p.world
	hrefs := make([]string, 0, len(p.cards))
	for href := range p.cards {
		hrefs = append(hrefs, href)
	}
	slices.Sort(hrefs)
	for _, href := range hrefs {
		c := p.cards[href]
		var conditions []string
		switch {
		case p.careful && c.added:
			conditions = []string{"If-None-Match", "*"}
		case p.careful && c.etag != "":
			conditions = []string{"If-Match", c.etag}
		}
		var a answer
		switch {
		case c.deleted && c.added && !c.tried:
			delete(p.cards, href)
			continue
		case c.deleted:
			a = p.send("DELETE", href, "", conditions...)
		case c.edited:
			w.sent(c.text)
			c.tried = true
			a = p.send("PUT", href, c.text, append(conditions, "Content-Type", "text/vcard")...)
		default:
			continue
		}
		if a.status >= http.StatusInternalServerError && a.status != http.StatusInsufficientStorage {
			w.Fatalf("%d: %s", a.status, a.body)
		}
		if w.lost(mayLose) {
			continue
		}
		if c.deleted && a.status < 300 || a.status == http.StatusNotFound {
			delete(p.cards, href)
			continue
		}
		if a.status == http.StatusForbidden || a.status == http.StatusInsufficientStorage {
			w.Fatalf("%s: %d %s\n%s", href, a.status, a.body, c.text)
		}
		// It reads the card again: after a success, because the answer has no entity tag.
		c.etag, c.added, c.edited, c.deleted = "", false, false, false
	}
}

// pull reads what changed.
func (p *phone) pull(mayLose bool) (changed int) {
	w := p.world
	m := p.multi("REPORT", p.home, `<d:sync-collection xmlns:d="DAV:"><d:sync-token>`+p.token+`</d:sync-token><d:sync-level>1</d:sync-level><d:prop><d:getetag/></d:prop></d:sync-collection>`)
	if w.lost(mayLose) {
		return 0
	}
	wanted := map[string]bool{}
	for href, etag := range m.etags() {
		c := p.cards[href]
		switch {
		case etag == "" && c != nil && !c.edited:
			delete(p.cards, href)
			changed++
		case etag != "" && (c == nil || c.etag != etag && !c.edited && !c.deleted):
			wanted[href] = true
		}
	}
	for href, c := range p.cards {
		if c.etag == "" && !c.edited && !c.deleted {
			wanted[href] = true
		}
	}
	if len(wanted) > 0 {
		body := `<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop>`
		for href := range wanted {
			body += "<d:href>" + href + "</d:href>"
		}
		got := p.multi("REPORT", p.home, body+`</c:addressbook-multiget>`)
		if w.lost(mayLose) {
			return 0
		}
		for _, r := range got.Responses {
			changed++
			if delete(p.cards, r.Href); len(r.PropStat) > 0 {
				p.cards[r.Href] = &local{text: r.PropStat[0].Prop.Data, etag: r.PropStat[0].Prop.ETag}
			}
		}
	}
	p.token = m.Token
	return changed
}

// kith does something in Kith, as the member or an agent.
func (w *world) kith() {
	var persons []people.Connection
	if err := w.data().From(&persons).Where("archived_at IS NULL").Order("id").Scan(w.Context()); err != nil {
		w.Fatal(err)
	}
	actor := db.Actor{}
	if rapid.Bool().Draw(w.T, "an agent") {
		actor = db.Actor{CredentialID: "agent", CredentialName: "Agent", Tool: "update_connection"}
	}
	kind := rapid.SampledFrom([]string{"add", "nickname", "bio", "email", "archive", "join", "remove"}).Draw(w.T, "what")
	word := w.word()
	if len(persons) == 0 && kind != "add" {
		return
	}
	var one people.Connection
	if kind != "add" {
		one = rapid.SampledFrom(persons).Draw(w.T, "person")
	}
	err := w.data().Write(w.Context(), actor, func(ctx context.Context, tx *db.Tx) (err error) {
		switch kind {
		case "add":
			_, err = people.Create(ctx, tx, people.Draft{Name: "Ben " + word})
		case "nickname":
			_, err = people.Update(ctx, tx, people.Patch{ID: one.ID, Nickname: &word})
		case "bio":
			_, err = people.Update(ctx, tx, people.Patch{ID: one.ID, Bio: &word})
		case "email":
			_, err = people.Update(ctx, tx, people.Patch{ID: one.ID, Emails: people.Edit{Add: []string{word + "@people.example"}}})
		case "archive":
			_, err = people.Archive(ctx, tx, []string{one.ID}, true, false)
		case "remove":
			var list []groups.Group
			if list, err = groups.ListGroups(ctx, tx); err == nil && len(list) > 0 {
				_, err = groups.Delete(ctx, tx, rapid.SampledFrom(list).Draw(w.T, "group").ID)
			}
		case "join":
			var saved groups.Saved
			if saved, err = groups.Save(ctx, tx, groups.Patch{Name: &word}); err == nil {
				_, err = groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{one.ID}, AddGroups: []string{saved.Group.ID}})
			}
		}
		return err
	})
	if err != nil && !fault.Is(err, fault.Invalid) {
		w.Fatal(err)
	}
	if err == nil && kind != "archive" && kind != "remove" {
		w.sent(word)
	}
}

// kept returns everything that Kith holds: people, notes, groups, changes and proposals, as texts.
func (w *world) kept() string {
	var b strings.Builder
	var ids []string
	if err := w.data().NewRaw("SELECT id FROM connections WHERE tenant_id = ?", w.owner).Scan(w.Context(), &ids); err != nil {
		w.Fatal(err)
	}
	persons, err := export.ReadPeople(w.Context(), w.data(), ids, false)
	if err != nil && len(ids) > 0 {
		w.Fatal(err)
	}
	for i := range persons {
		b.WriteString(unfolded(export.Card(&persons[i], true)))
	}
	for _, query := range []string{
		"SELECT effects FROM changes WHERE tenant_id = ?", "SELECT body FROM notes WHERE tenant_id = ?", "SELECT name FROM groups WHERE tenant_id = ?",
		"SELECT card FROM proposals WHERE tenant_id = ?",
	} {
		var texts []string
		if err := w.data().NewRaw(query, w.owner).Scan(w.Context(), &texts); err != nil {
			w.Fatal(err)
		}
		b.WriteString(unfolded(strings.Join(texts, "\n")))
	}
	return b.String()
}

// TestDevicesAgree: after random acts of two devices, the member and an agent, some with lost answers, both devices have the same cards, and
// every word that was typed is on a card, in a note, in a change or in a proposal.
func TestDevicesAgree(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		n := 0
		rapid.Check(s.T, func(rt *rapid.T) {
			n++
			name := fmt.Sprintf("vera%d", n)
			one := *s
			one.owner = dbtest.Member(s.T, s.store, name)
			w := &world{site: &one, T: rt, typed: map[string]bool{}}
			for i := range 2 {
				w.phones = append(w.phones, &phone{
					device: one.deviceOf(one.owner, name, false), world: w, home: "/dav/" + name + "/books/people/", cards: map[string]*local{}, careful: i == 0,
				})
			}
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				p := w.phones[rapid.IntRange(0, 1).Draw(rt, "device")]
				switch rapid.IntRange(0, 3).Draw(rt, "step") {
				case 0:
					w.kith()
				case 1:
					p.push(true)
				case 2:
					p.pull(true)
				default:
					p.edit()
				}
			}
			w.settle()
			kept := w.kept()
			for word := range w.typed {
				if !strings.Contains(kept, word) {
					rt.Errorf("%s is gone", word)
				}
			}
		})
	})
}

// settle synchronises until nothing changes, and compares the devices.
func (w *world) settle() {
	for range 4 {
		for _, p := range w.phones {
			p.push(false)
			p.pull(false)
		}
	}
	for _, p := range w.phones {
		if n := p.pull(false); n > 0 {
			w.Errorf("%d cards still change", n)
		}
	}
	first, second := w.phones[0], w.phones[1]
	for href, c := range first.cards {
		other := second.cards[href]
		if other == nil || other.text != c.text {
			w.Errorf("%s differs: %+v and %+v", href, c, other)
		}
		if now := first.send("GET", href, ""); now.body != c.text {
			w.Errorf("%s is %s, and the device has %s", href, now.body, c.text)
		}
	}
	if len(first.cards) != len(second.cards) {
		w.Errorf("one device has %d cards, the other %d", len(first.cards), len(second.cards))
	}
}
