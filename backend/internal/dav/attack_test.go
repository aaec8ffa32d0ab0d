package dav_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
)

// multigetOf returns the body of a REPORT that asks for the cards at some addresses.
func multigetOf(hrefs ...string) string {
	return `<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop><d:href>` +
		strings.Join(hrefs, "</d:href><d:href>") + `</d:href></c:addressbook-multiget>`
}

// TestOtherMembers: a device learns nothing of another member, not even that they exist, and changes nothing of theirs.
func TestOtherMembers(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		vera := s.device(false)
		vera.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		s.member("Rowing", s.person(people.Draft{Name: "Grace Hopper"}))
		state, token := vera.sync("")
		const own = "/dav/otto/books/people/"
		otto := s.deviceOf(dbtest.Member(t, s.store, "otto"), "otto", false)
		// same fails unless two requests get the same answer; what they name differs.
		same := func(what string, first, second answer, named ...string) {
			t.Helper()
			if got, want := strings.NewReplacer(named...).Replace(first.body), strings.NewReplacer(named...).Replace(second.body); first.status != second.status || got != want {
				t.Errorf("%s: %d %s, and for what does not exist %d %s", what, first.status, got, second.status, want)
			}
		}
		for href, etag := range state {
			name := strings.TrimPrefix(href, book)
			for _, method := range []string{"OPTIONS", "PROPFIND", "PROPPATCH", "REPORT", "GET", "HEAD", "DELETE", "PUT"} {
				for _, path := range []string{"/dav/vera/", "/dav/vera/books/", book, href} {
					a := otto.send(method, path, veraHolm, "If-Match", etag)
					if a.status != http.StatusNotFound {
						t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
					}
					same(method+" "+path, a, otto.send(method, strings.Replace(path, "vera", "nobody", 1), veraHolm, "If-Match", etag))
				}
			}
			// The names and the addresses of her cards mean nothing in his address book.
			for _, method := range []string{"PROPFIND", "GET", "DELETE"} {
				same(method+" "+name, otto.want(http.StatusNotFound, method, own+name, ""), otto.send(method, own+"none.vcf", ""))
			}
			same("multiget", otto.send("REPORT", own, multigetOf(own+name, href)), otto.send("REPORT", own, multigetOf(own+"none.vcf", strings.Replace(href, "vera", "nobody", 1))),
				name, "none.vcf", "vera", "nobody")
		}
		body := `<d:sync-collection xmlns:d="DAV:"><d:sync-token>%s</d:sync-token></d:sync-collection>`
		same("her sync token", otto.send("REPORT", own, fmt.Sprintf(body, token)), otto.send("REPORT", own, fmt.Sprintf(body, "urn:kith:sync:00000000:1")))
		// Her password says nothing with another name, whether that exists or not.
		for _, name := range []string{"otto", "nobody", ""} {
			d := vera
			d.username = name
			same("the password of vera for "+name, d.want(http.StatusUnauthorized, "PROPFIND", book, ""), d.want(http.StatusUnauthorized, "PROPFIND", "/dav/nobody/", ""))
		}
		// Her people do not get into a group of his.
		var uids []string
		for href := range state {
			uids = append(uids, strings.TrimSuffix(strings.TrimPrefix(href, book), ".vcf"))
		}
		otto.want(http.StatusCreated, "PUT", own+"g.vcf", groupCard("G-1", "Rowing", append(uids, "3E2A9B1C-0000-4000-8000-ABCDEF012345")...))
		if card := otto.want(http.StatusOK, "GET", own+"g.vcf", "").body; strings.Contains(card, "MEMBER") {
			t.Errorf("his group is %s", card)
		}
		// He may have cards with the same names and UIDs.
		for href := range state {
			name := strings.TrimPrefix(href, book)
			otto.want(http.StatusCreated, "PUT", own+name, strings.Replace(veraHolm, "UID:3E2A9B1C-0000-4000-8000-ABCDEF012345", "UID:"+strings.TrimSuffix(name, ".vcf"), 1))
		}
		if now, same := vera.sync(""); !slices.Equal(sorted(now), sorted(state)) || same != token {
			t.Errorf("her cards are %v, and were %v", now, state)
		}
		s.wantGroups("Rowing: Grace Hopper")
	})
}

// sorted returns the pairs of a map.
func sorted(m map[string]string) (pairs []string) {
	for k, v := range m {
		pairs = append(pairs, k+" "+v)
	}
	slices.Sort(pairs)
	return pairs
}

// TestHostileXML: nothing is fetched or expanded, and an answer does not grow with what a request repeats.
func TestHostileXML(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		names := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "<x:n%d/>", i)
			}
			return b.String()
		}
		const propfind, end = `<d:propfind xmlns:d="DAV:" xmlns:x="urn:x"><d:prop>`, `</d:prop></d:propfind>`
		for name, body := range map[string]string{
			"an external entity":          `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + propfind + `&a;` + end,
			"an external document type":   `<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">` + propfind + end,
			"a parameter entity":          `<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:9/x.dtd">%a;]>` + propfind + end,
			"an entity in an attribute":   `<d:propfind xmlns:d="DAV:" a="&a;"><d:prop/></d:propfind>`,
			"another encoding":            `<?xml version="1.0" encoding="utf-7"?>` + propfind + end,
			"a NUL":                       propfind + "\x00" + end,
			"a NUL as a reference":        propfind + "&#0;" + end,
			"many properties":             propfind + names(201) + end,
			"a long namespace":            `<d:propfind xmlns:d="DAV:"><d:prop xmlns:x="urn:` + strings.Repeat("n", 100_000) + `">` + strings.Repeat("<x:a/>", 100) + end,
			"a property with a long name": propfind + "<x:" + strings.Repeat("n", 300) + "/>" + end,
		} {
			if a := d.want(http.StatusBadRequest, "PROPFIND", book, body, "Depth", "1"); strings.Contains(a.body, "root:") || len(a.body) > 500 {
				t.Errorf("%s: %s", name, a.body)
			}
		}
		d.want(http.StatusBadRequest, "PROPPATCH", book, `<d:propertyupdate xmlns:d="DAV:"><d:set><d:prop xmlns:x="urn:`+strings.Repeat("n", 100_000)+`">`+strings.Repeat("<x:a/>", 9000)+`</d:prop></d:set></d:propertyupdate>`)
		d.multi("PROPFIND", book, propfind+names(200)+end, "Depth", "1")
		d.want(http.StatusBadRequest, "REPORT", book, `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:address-data>`+
			strings.Repeat(`<c:prop name="FN"/>`, 201)+`</c:address-data></d:prop></c:addressbook-query>`)

		query := func(conditions int) string {
			return `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/></d:prop><c:filter><c:prop-filter name="FN">` +
				strings.Repeat(`<c:text-match>Vera</c:text-match>`, conditions) + `</c:prop-filter></c:filter></c:addressbook-query>`
		}
		if m := d.multi("REPORT", book, query(49)); len(m.Responses) != 1 {
			t.Errorf("with many conditions it finds %+v", m)
		}
		if a := d.want(http.StatusForbidden, "REPORT", book, query(50)); !strings.Contains(a.body, "supported-filter") {
			t.Errorf("with too many conditions: %s", a.body)
		}

		// A hundred thousand addresses do not fit; as many as fit are looked up at once, each card is answered once.
		hundred := func(n int) (hrefs []string) {
			for i := range n {
				hrefs = append(hrefs, "/x/"+fmt.Sprint(i))
			}
			return hrefs
		}
		d.want(http.StatusRequestEntityTooLarge, "REPORT", book, multigetOf(hundred(100_000)...))
		d.want(http.StatusBadRequest, "REPORT", book, multigetOf(hundred(20_000)...))
		if m := d.multi("REPORT", book, multigetOf(append(slices.Repeat([]string{book + "a.vcf"}, 5000), hundred(4990)...)...)); len(m.Responses) != 4991 {
			t.Errorf("it answers %d", len(m.Responses))
		}
		if m := d.multi("REPORT", book, `<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop/></c:addressbook-multiget>`); len(m.Responses) != 0 {
			t.Errorf("without addresses it answers %+v", m)
		}
	})
}

// TestControlCharacters: NUL and line ends in addresses and cards reach neither the database nor the headers of an answer.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		for _, name := range []string{"%00", "a.vcf%00", "%00a.vcf", "a%0d%0aX-Evil:%20yes.vcf", "a%0a.vcf", "a%7f.vcf", "%ff.vcf", "%c0%80.vcf"} {
			for _, method := range []string{"GET", "HEAD", "PROPFIND", "DELETE"} {
				if a := d.want(http.StatusNotFound, method, book+name, ""); a.header.Get("X-Evil") != "" {
					t.Errorf("%s %s: %v", method, name, a.header)
				}
			}
			if a := d.send("PUT", book+name, veraHolm); a.status != http.StatusForbidden && a.status != http.StatusNotFound {
				t.Errorf("PUT %s: %d %s", name, a.status, a.body)
			}
			m := d.multi("REPORT", book, multigetOf(book+name, book+"a.vcf"))
			if len(m.Responses) != 2 || m.Responses[0].Href != book+name || !strings.Contains(m.Responses[0].Status, "404") {
				t.Errorf("multiget of %s: %+v", name, m)
			}
		}
		for _, header := range []string{"If-Match", "If-None-Match", "Depth", "Content-Type", "User-Agent", "X-Forwarded-User", "Accept"} {
			d.send("PROPFIND", book, "", header, "\"a\r\nX-Evil: yes\x00")
			d.send("PUT", book+"a.vcf", veraHolm, header, "\"a\r\nX-Evil: yes\x00")
		}
		before := len(s.all())
		for name, value := range map[string]string{"user": "vera\x00", "line": "vera\r\nX-Evil: yes", "colon": ""} {
			d := d
			d.username = value
			if a := d.want(http.StatusUnauthorized, "PROPFIND", book, ""); a.header.Get("X-Evil") != "" {
				t.Errorf("%s: %v", name, a.header)
			}
		}

		// A card loses its NULs, wherever they are, and nothing else; also if it is refused and waits.
		uid, note := "UID:3E2A9B1C-0000-4000-8000-ABCDEF012345", "NOTE:Likes chess"
		d.want(http.StatusCreated, "PUT", book+"b.vcf", strings.NewReplacer(uid, "UID:b\x00b", note, "NOTE:Likes\x00 tea\nX-OWN:a\x00b").Replace(veraHolm))
		card := d.want(http.StatusOK, "GET", book+"b.vcf", "").body
		for _, line := range []string{"UID:bb\r\n", "NOTE:Likes tea\r\n", "X-OWN:ab\r\n"} {
			if !strings.Contains(card, line) {
				t.Errorf("the card lacks %q: %s", line, card)
			}
		}
		d.want(http.StatusPreconditionFailed, "PUT", book+"a.vcf", strings.Replace(veraHolm, note, "NOTE:Likes\x00 go", 1), "If-Match", `"old"`)
		waiting := s.waiting()
		if len(waiting) == 0 || !strings.Contains(waiting[len(waiting)-1].Card, "NOTE:Likes go\n") {
			t.Errorf("what waits is %+v", waiting)
		}
		if len(s.all()) != before+1 {
			t.Errorf("there are %d people", len(s.all()))
		}
	})
}

// TestWaitingCardIsReadable: a card in another character set keeps its letters while it waits.
func TestWaitingCardIsReadable(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		d.want(http.StatusPreconditionFailed, "PUT", book+"a.vcf", strings.Replace(veraHolm, "Likes chess", "Likes M\xfcnchen", 1), "If-Match", `"old"`)
		s.approve()
		if c := s.one(); c.Bio != "Likes München" {
			t.Errorf("after the approval it is %+v", c)
		}
	})
}

// TestClocks: the clock of a device decides nothing.
func TestClocks(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		for i, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
			at := time.Now().Add(off).UTC()
			clock := []string{"Date", at.Format(http.TimeFormat), "If-Modified-Since", at.Format(http.TimeFormat), "If-Unmodified-Since", at.Format(http.TimeFormat)}
			got := d.want(http.StatusOK, "GET", book+"a.vcf", "", clock...)
			phone := fmt.Sprintf("+49 30 765432%d", i)
			edited := strings.NewReplacer("+49 30 1234567", phone, "END:VCARD", "REV:"+at.Format("20060102T150405Z")+"\nEND:VCARD").Replace(veraHolm)
			d.want(http.StatusNoContent, "PUT", book+"a.vcf", edited, append(clock, "If-Match", got.header.Get("ETag"))...)
			if c := s.one(); !slices.Contains(c.Values(people.KindPhone), phone) || c.UpdatedAt.After(time.Now()) {
				t.Errorf("%s off: stored is %+v", off, c)
			}
			d.want(http.StatusPreconditionFailed, "PUT", book+"a.vcf", veraHolm, append(clock, "If-Match", got.header.Get("ETag"))...)
		}
		d.want(http.StatusNoContent, "DELETE", book+"a.vcf", "", "If-Unmodified-Since", time.Now().Add(-24*time.Hour).UTC().Format(http.TimeFormat))
	})
}

// TestTwoDevicesAtOnce: devices that write one card at the same time lose no value: each is stored, or waits for the member.
func TestTwoDevicesAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		id := s.person(people.Draft{Name: "Otto Berg", Nickname: "Otti"})
		// round lets two devices that read the present card send it with an edit each, and returns their answers.
		round := func(first, second [2]string, match bool) (statuses []int) {
			t.Helper()
			var ready, done sync.WaitGroup
			start, answers := make(chan struct{}), make([]answer, 2)
			for i, edit := range [][2]string{first, second} {
				d := s.device(false)
				path, etag, text := d.card()
				edited := strings.Replace(text, edit[0], edit[1], 1)
				if edited == text {
					t.Fatalf("%q is not in %s", edit[0], text)
				}
				var headers []string
				if match {
					headers = []string{"If-Match", etag}
				}
				ready.Add(1)
				done.Go(func() {
					ready.Done()
					<-start
					answers[i] = d.send("PUT", path, edited, headers...)
				})
			}
			ready.Wait()
			close(start)
			done.Wait()
			statuses = []int{answers[0].status, answers[1].status}
			slices.Sort(statuses)
			return statuses
		}
		// Different fields, without If-Match: both are stored.
		if got := round([2]string{"NICKNAME:Otti", "NICKNAME:Ottokar"}, [2]string{"END:VCARD", "TEL:+49 30 5550100\r\nEND:VCARD"}, false); got[0] != http.StatusNoContent || got[1] != http.StatusNoContent {
			t.Errorf("the answers are %v", got)
		}
		if c := s.one(); c.Nickname != "Ottokar" || len(c.Values(people.KindPhone)) != 1 || len(s.waiting()) != 0 {
			t.Errorf("stored is %+v, and %+v waits", c, s.waiting())
		}
		// One field, without If-Match: one is stored, the other waits.
		if got := round([2]string{"NICKNAME:Ottokar", "NICKNAME:O."}, [2]string{"NICKNAME:Ottokar", "NICKNAME:Oz"}, false); got[0] != http.StatusNoContent || got[1] != http.StatusNoContent {
			t.Errorf("the answers are %v", got)
		}
		held := func(want ...string) {
			t.Helper()
			c, waiting := s.one(), s.waiting()
			if len(waiting) != 1 || c.ID != id {
				t.Fatalf("%+v waits", waiting)
			}
			for _, value := range want {
				if c.Nickname != value && !slices.Contains(c.Values(people.KindPhone), value) && !strings.Contains(waiting[0].Card, value) {
					t.Errorf("%s is lost: stored is %+v, and %s waits", value, c, waiting[0].Card)
				}
			}
			s.approve()
		}
		held("O.", "Oz")
		// With If-Match, one is told that the card has changed, and what it sent waits.
		nickname := s.one().Nickname
		if got := round([2]string{"NICKNAME:" + nickname, "NICKNAME:Otto"}, [2]string{"END:VCARD", "TEL:+49 30 5550101\r\nEND:VCARD"}, true); got[0] != http.StatusNoContent || got[1] != http.StatusPreconditionFailed {
			t.Errorf("the answers are %v", got)
		}
		held("Otto", "+49 30 5550101")
		if c := s.one(); c.Nickname != "Otto" || len(c.Values(people.KindPhone)) != 2 {
			t.Errorf("after the approval it is %+v", c)
		}
	})
}

// TestOneCardIsMadeOnce: of devices that make one card at the same time, one makes it, and what the others sent waits.
func TestOneCardIsMadeOnce(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		const devices = 4
		var done sync.WaitGroup
		statuses := make([]int, devices)
		for i := range devices {
			d := s.device(false)
			done.Go(func() {
				statuses[i] = d.send("PUT", book+"a.vcf", strings.Replace(veraHolm, "Likes chess", fmt.Sprintf("Likes %d", i), 1), "If-None-Match", "*").status
			})
		}
		done.Wait()
		slices.Sort(statuses)
		const told = http.StatusPreconditionFailed
		if !slices.Equal(statuses, []int{http.StatusCreated, told, told, told}) {
			t.Errorf("the answers are %v", statuses)
		}
		all := s.one().Bio
		for _, p := range s.waiting() {
			all += p.Card
		}
		for i := range devices {
			if !strings.Contains(all, fmt.Sprintf("Likes %d", i)) {
				t.Errorf("what device %d sent is lost: %s", i, all)
			}
		}
	})
}

// TestDeviceOfSuspendedMember: a device of a member who is suspended reads and writes nothing.
func TestDeviceOfSuspendedMember(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		if _, err := account.SuspendMember(t.Context(), s.store, "vera"); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"PROPFIND", "REPORT", "GET", "PUT", "DELETE", "OPTIONS"} {
			d.want(http.StatusUnauthorized, method, book+"a.vcf", veraHolm)
		}
	})
}

// TestPersonOfManyGroups: a person whom a device put into more groups than one can be in, before it sent their card, is stored.
func TestPersonOfManyGroups(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		for i := range groups.MaxGroupsOfPerson + 1 {
			d.want(http.StatusCreated, "PUT", fmt.Sprintf("%sg%d.vcf", book, i), groupCard(fmt.Sprint("G-", i), fmt.Sprint("Group ", i), "ADA-1"))
		}
		d.want(http.StatusCreated, "PUT", book+"ada.vcf", personCard("ADA-1", "Ada Berg"))
		in := 0
		for _, group := range s.groups() {
			if strings.HasSuffix(group, ": Ada Berg") {
				in++
			}
		}
		if in != groups.MaxGroupsOfPerson {
			t.Errorf("she is in %d groups", in)
		}
		if notes := s.notes(); len(notes) != 1 || !strings.Contains(notes[0], "50 groups at most") {
			t.Errorf("the notes are %q", notes)
		}
	})
}

// TestCookiesNeverCount: a browser that is signed in has no address book, and a form of another site does nothing.
func TestCookiesNeverCount(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		for _, method := range []string{"GET", "PUT", "DELETE", "PROPFIND", "REPORT", "OPTIONS", "POST"} {
			if a := d.want(http.StatusUnauthorized, method, book+"a.vcf", "", "Authorization", "", "Cookie", "kith_session="+d.password); a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s sets a cookie", method)
			}
		}
		// A browser that knows the password sends it with the form of another site, too.
		for _, media := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"} {
			for _, path := range []string{book, book + "a.vcf", "/dav/"} {
				a := d.want(http.StatusMethodNotAllowed, "POST", path, veraHolm, "Content-Type", media, "Origin", "https://evil.example", "X-HTTP-Method-Override", "DELETE")
				if a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: %v", path, a.header)
				}
			}
		}
		if a := d.send("OPTIONS", book+"a.vcf", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"); a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("another site may write: %v", a.header)
		}
		if c := s.one(); c.Version != 1 {
			t.Errorf("it was changed: %+v", c)
		}
	})
}
