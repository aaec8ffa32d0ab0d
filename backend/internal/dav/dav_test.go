package dav_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
)

const veraHolm = `BEGIN:VCARD
VERSION:3.0
PRODID:-//Apple Inc.//iPhone OS 26.1//EN
UID:3E2A9B1C-0000-4000-8000-ABCDEF012345
N:Holm;Vera;;;
FN:Vera Holm
item1.EMAIL;type=INTERNET;type=pref:vera@holm.example
item1.X-ABLabel:Verein
TEL;type=CELL;type=VOICE:+49 30 1234567
BDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29
ORG:Holm GmbH;
X-UNKNOWN;X-P="a;b:c":kept\, as it is
NOTE:Likes chess
END:VCARD
`

func TestAuthentication(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		wrong, nobody, token := d, d, d
		wrong.password, nobody.username = "aaaa-bbbb-cccc-dddd-eeee-ffff", "otto"
		token.password = dbtest.Token(t, s.store, s.owner, "connections", "write")
		for name, d := range map[string]device{"wrong": wrong, "nobody": nobody, "a bearer token": token} {
			for _, path := range []string{"/dav/", "/dav/vera/", book, book + "x.vcf", "/dav/otto/"} {
				if a := d.want(http.StatusUnauthorized, "PROPFIND", path, ""); a.header.Get("WWW-Authenticate") != `Basic realm="Kith", charset="UTF-8"` {
					t.Errorf("%s: the challenge is %q", name, a.header.Get("WWW-Authenticate"))
				}
			}
		}
		typed := d
		typed.username, typed.password = "Vera", strings.ToUpper(strings.ReplaceAll(d.password, "-", " "))
		typed.multi("PROPFIND", book, "")
		if len(s.used.devices) != 1 || s.used.devices[0] != d.id {
			t.Errorf("%v were used", s.used.devices)
		}
		if a := d.want(http.StatusMovedPermanently, "PROPFIND", "/.well-known/carddav", ""); a.header.Get("Location") != "https://kith.example/dav/" {
			t.Errorf("it redirects to %s", a.header.Get("Location"))
		}
		s.deviceOf(dbtest.Member(t, s.store, "otto"), "otto", false).want(http.StatusNotFound, "PROPFIND", book, "")
		if err := account.RemoveDevice(t.Context(), s.store, s.owner, d.id); err != nil {
			t.Fatal(err)
		}
		d.want(http.StatusUnauthorized, "OPTIONS", "/dav/", "")
	})
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		ask := func(path, prop string) string {
			return d.want(http.StatusMultiStatus, "PROPFIND", path, `<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop>`+prop+`</d:prop></d:propfind>`, "Depth", "0").body
		}
		for _, test := range []struct{ path, prop, want string }{
			{"/dav/", "<d:current-user-principal/>", "<d:current-user-principal><d:href>/dav/vera/</d:href></d:current-user-principal>"},
			{"/dav/vera/", "<c:addressbook-home-set/>", "<card:addressbook-home-set><d:href>/dav/vera/books/</d:href></card:addressbook-home-set>"},
			{"/dav/vera", "<d:resourcetype/>", "<d:principal/>"},
			{book, "<d:resourcetype/>", "<d:resourcetype><d:collection/><card:addressbook/></d:resourcetype>"},
			{book, "<d:current-user-privilege-set/>", "<d:privilege><d:write/></d:privilege>"},
			{book, "<d:supported-report-set/>", "<d:report><d:sync-collection/></d:report>"},
			{book, `<x:none xmlns:x="urn:&quot;x"/>`, `<d:prop><x:none xmlns:x="urn:&#34;x"/></d:prop><d:status>HTTP/1.1 404 Not Found</d:status>`},
			{book, "<d:displayname/>", "<d:displayname>People</d:displayname>"},
		} {
			if got := ask(test.path, test.prop); !strings.Contains(got, test.want) {
				t.Errorf("%s of %s: %s", test.prop, test.path, got)
			}
		}
		if m := d.multi("PROPFIND", "/dav/vera/books/", "", "Depth", "1"); len(m.Responses) != 2 || m.Responses[1].Href != book {
			t.Errorf("the home has %+v", m)
		}
		if a := d.want(http.StatusOK, "OPTIONS", "/dav/vera/", ""); !strings.Contains(a.header.Get("DAV"), "addressbook") {
			t.Errorf("DAV: %s", a.header.Get("DAV"))
		}
		if got := s.device(true).want(http.StatusMultiStatus, "PROPFIND", book, `<d:propfind xmlns:d="DAV:"><d:prop><d:current-user-privilege-set/></d:prop></d:propfind>`).body; strings.Contains(got, "<d:write") || strings.Contains(got, "bind") {
			t.Errorf("a device that only reads may %s", got)
		}
	})
}

func TestPut(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		const path = book + "ABC%20d.vcf"
		if a := d.want(http.StatusCreated, "PUT", path, veraHolm, "If-None-Match", "*", "Content-Type", "text/vcard; charset=utf-8"); a.header.Get("ETag") != "" {
			t.Error("the answer has an ETag, though the stored form differs")
		}
		c := s.one()
		if c.Name != "Vera Holm" || c.NameParts.Family != "Holm" || c.Source != people.SourceManual || len(c.Handles) != 2 || c.Handles[0].Label != "Verein" || len(c.Dates) != 1 || c.Dates[0].Day != 29 || c.Bio != "Likes chess" {
			t.Errorf("stored is %+v", c)
		}
		got := d.want(http.StatusOK, "GET", path, "")
		for _, line := range []string{"UID:3E2A9B1C-0000-4000-8000-ABCDEF012345\r\n", `X-UNKNOWN;X-P="a;b:c":kept\, as it is` + "\r\n", "BDAY;X-APPLE-OMIT-YEAR=1604:1604-02-29\r\n", "VERSION:3.0\r\n"} {
			if !strings.Contains(got.body, line) {
				t.Errorf("the card lacks %q: %s", line, got.body)
			}
		}
		if v4 := d.want(http.StatusOK, "GET", path, "", "Accept", "text/vcard; version=4.0").body; !strings.Contains(v4, "VERSION:4.0\r\n") {
			t.Errorf("version 4.0 is %s", v4)
		}
		d.want(http.StatusNotModified, "GET", path, "", "If-None-Match", got.header.Get("ETag"))
		d.want(http.StatusPreconditionFailed, "PUT", path, veraHolm, "If-None-Match", "*")

		// The device changes the number, and leaves out what it does not know.
		edited := strings.NewReplacer("+49 30 1234567", "+49 30 7654321", "X-UNKNOWN", "X-OTHER").Replace(veraHolm)
		d.want(http.StatusNoContent, "PUT", path, edited, "If-Match", got.header.Get("ETag"))
		if c := s.one(); c.Values(people.KindPhone)[0] != "+49 30 7654321" || len(c.Values(people.KindPhone)) != 1 || len(c.Kept) != 2 {
			t.Errorf("stored is %+v", c)
		}
		d.want(http.StatusPreconditionFailed, "PUT", path, veraHolm, "If-Match", got.header.Get("ETag"))
		changes, err := history.ListChanges(t.Context(), s.data(), history.Query{Limit: 10})
		if err != nil || len(changes) != 2 || changes[0].CredentialName != "Phone" || changes[0].CredentialID != d.id {
			t.Errorf("the changes are %+v, %v", changes, err)
		}
		s.undo()
		if c := s.one(); c.Values(people.KindPhone)[0] != "+49 30 1234567" {
			t.Errorf("after the undo it is %+v", c)
		}
		// The same card again changes nothing.
		version := s.one().Version
		d.want(http.StatusNoContent, "PUT", path, d.want(http.StatusOK, "GET", path, "").body)
		if c := s.one(); c.Version != version {
			t.Errorf("the same card makes version %d of %d", c.Version, version)
		}
	})
}

// TestPutKeeps: a PUT without the properties that a device does not support does not delete their values.
func TestPutKeeps(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		s.person(people.Draft{
			Name: "Otto Berg", Emails: []string{"otto@berg.example", "old@berg.example"}, Tags: []string{"chess", "berlin"}, MetHow: "at a fair", Starred: true,
			Accounts: []people.Account{{Service: "matrix", Handle: "@otto:berg.example"}}, Organization: "Berg", Title: "Boss",
		})
		var path string
		for path = range d.multi("PROPFIND", book, "", "Depth", "1").etags() {
			if path != book {
				break
			}
		}
		before := s.one()
		card := "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:" + strings.TrimSuffix(strings.TrimPrefix(path, book), ".vcf") + "\r\nFN:Otto Berg\r\nN:;Otto Berg;;;\r\nEMAIL:otto@berg.example\r\nORG:Berg\r\nTITLE:Chief\r\nEND:VCARD\r\n"
		d.want(http.StatusNoContent, "PUT", path, card)
		after := s.one()
		if len(after.Tags) != 2 || len(after.Accounts) != 1 || after.MetHow != "at a fair" || !after.Starred || !after.NameParts.IsZero() {
			t.Errorf("stored is %+v", after)
		}
		if emails := after.Values(people.KindEmail); len(emails) != 1 || after.Handles[0].ID != before.Handles[0].ID {
			t.Errorf("the addresses are %+v", after.Handles)
		}
		if len(after.Positions) != 1 || after.Positions[0].Title != "Chief" || after.Positions[0].ID != before.Positions[0].ID {
			t.Errorf("the jobs are %+v", after.Positions)
		}
	})
}

func TestPutRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		for name, test := range map[string]struct {
			path, card, want string
			status           int
		}{
			"no card":      {"b.vcf", "hello", "valid-address-data", http.StatusForbidden},
			"two cards":    {"b.vcf", veraHolm + veraHolm, "valid-address-data", http.StatusForbidden},
			"nobody":       {"b.vcf", "BEGIN:VCARD\nVERSION:3.0\nEND:VCARD", "valid-address-data", http.StatusForbidden},
			"the same UID": {"b.vcf", veraHolm, "<card:no-uid-conflict><d:href>" + book + "a.vcf</d:href>", http.StatusConflict},
			"another UID":  {"a.vcf", strings.Replace(veraHolm, "UID:3", "UID:4", 1), "no-uid-conflict", http.StatusConflict},
			"the book":     {"", veraHolm, "", http.StatusMethodNotAllowed},
			"too deep":     {"a/b.vcf", veraHolm, "", http.StatusNotFound},
		} {
			if a := d.send("PUT", book+test.path, test.card); a.status != test.status || !strings.Contains(a.body, test.want) {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		d.want(http.StatusRequestEntityTooLarge, "PUT", book+"b.vcf", strings.Repeat("x", 1<<20+1))
		d.want(http.StatusUnsupportedMediaType, "PUT", book+"b.vcf", veraHolm, "Content-Type", "text/html")
		d.want(http.StatusMethodNotAllowed, "MKCOL", book, "")
		if len(s.all()) != 1 {
			t.Errorf("there are %d people", len(s.all()))
		}
		reader := s.device(true)
		for _, method := range []string{"PUT", "DELETE"} {
			if a := reader.want(http.StatusForbidden, method, book+"a.vcf", veraHolm); !strings.Contains(a.body, "<d:need-privileges/>") {
				t.Errorf("%s by a reader: %s", method, a.body)
			}
		}
		reader.want(http.StatusOK, "GET", book+"a.vcf", "")
	})
}

func TestSync(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		id := s.person(people.Draft{Name: "Otto Berg"})
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		first, token := d.sync("")
		if len(first) != 2 || first[book+"a.vcf"] == "" {
			t.Fatalf("the first sync has %v", first)
		}
		if again, same := d.sync(token); len(again) != 0 || same != token {
			t.Errorf("nothing changed, and it has %v and %s after %s", again, same, token)
		}
		d.want(http.StatusNoContent, "DELETE", book+"a.vcf", "", "If-Match", first[book+"a.vcf"])
		d.want(http.StatusNotFound, "GET", book+"a.vcf", "")
		changed, next := d.sync(token)
		if len(changed) != 1 || changed[book+"a.vcf"] != "" {
			t.Errorf("after the deletion it has %v", changed)
		}
		s.undo()
		if changed, _ = d.sync(next); len(changed) != 1 || changed[book+"a.vcf"] == "" {
			t.Errorf("after the undo it has %v", changed)
		}
		s.write(archive(id))
		if changed, _ = d.sync(token); len(changed) != 2 {
			t.Errorf("after archiving it has %v", changed)
		}
		with := func(part int, value string) string {
			parts := strings.Split(token, ":")
			parts[part] = value
			return strings.Join(parts, ":")
		}
		for _, test := range []struct {
			token, agent string
			status       int
		}{
			{"urn:kith:sync:x:1", "DAVx5/4.5", http.StatusForbidden}, {"http://radicale.org/ns/sync/1", "Mozilla/5.0 Thunderbird/153.0", http.StatusBadRequest},
			{with(4, "9999"), "iOS/26", http.StatusForbidden},
			// The database was restored from a backup: the last change that the device knows is not there, or another one has its number.
			{with(5, "9999"), "iOS/26", http.StatusForbidden}, {with(6, "chg_aa000aa000"), "iOS/26", http.StatusForbidden},
		} {
			a := d.want(test.status, "REPORT", book, `<d:sync-collection xmlns:d="DAV:"><d:sync-token>`+test.token+`</d:sync-token></d:sync-collection>`, "User-Agent", test.agent)
			if !strings.Contains(a.body, "<d:valid-sync-token/>") {
				t.Errorf("%s: %s", test.token, a.body)
			}
		}
	})
}

func TestReports(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		s.person(people.Draft{Name: "Otto Berg", Emails: []string{"otto@berg.example"}})
		d.want(http.StatusCreated, "PUT", book+"a.vcf", veraHolm)
		const head = ` xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/><c:address-data/></d:prop>`
		m := d.multi("REPORT", book, `<c:addressbook-multiget`+head+`<d:href>`+book+`a.vcf</d:href><d:href>https://kith.example`+book+`a.vcf</d:href><d:href>`+book+`none.vcf</d:href><d:href>/dav/otto/books/people/a.vcf</d:href></c:addressbook-multiget>`)
		if len(m.Responses) != 3 || !strings.Contains(m.Responses[0].Status, "404") || !strings.Contains(m.Responses[2].PropStat[0].Prop.Data, "FN:Vera Holm") {
			t.Errorf("the cards are %+v", m)
		}
		for filter, want := range map[string]int{
			``: 2,
			`<c:prop-filter name="FN"><c:text-match>HOLM</c:text-match></c:prop-filter>`:                                                                                1,
			`<c:prop-filter name="FN"><c:text-match collation="i;octet">HOLM</c:text-match></c:prop-filter>`:                                                            0,
			`<c:prop-filter name="FN"><c:text-match match-type="starts-with" negate-condition="yes">Vera</c:text-match></c:prop-filter>`:                                1,
			`<c:prop-filter name="BDAY"><c:is-not-defined/></c:prop-filter>`:                                                                                            1,
			`<c:prop-filter name="TEL"><c:param-filter name="TYPE"><c:text-match match-type="equals">cell</c:text-match></c:param-filter></c:prop-filter>`:              1,
			`<c:prop-filter name="FN"><c:text-match>nobody</c:text-match></c:prop-filter><c:prop-filter name="EMAIL"><c:text-match>berg</c:text-match></c:prop-filter>`: 1,
		} {
			if m := d.multi("REPORT", book, `<c:addressbook-query`+head+`<c:filter>`+filter+`</c:filter></c:addressbook-query>`, "Depth", "1"); len(m.Responses) != want {
				t.Errorf("%s finds %+v", filter, m)
			}
		}
		m = d.multi("REPORT", book, `<c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:address-data version="4.0"><c:prop name="FN"/></c:address-data></d:prop><c:limit><c:nresults>1</c:nresults></c:limit></c:addressbook-query>`)
		if len(m.Responses) != 2 || !strings.HasPrefix(m.Responses[1].Status, "HTTP/1.1 507") || strings.Count(m.Responses[0].PropStat[0].Prop.Data, "\n") != 4 {
			t.Errorf("with a limit there are %+v", m)
		}
		for body, want := range map[string]string{
			`<c:addressbook-query` + head + `<c:filter><c:prop-filter name="FN"><c:text-match collation="i;klingon">x</c:text-match></c:prop-filter></c:filter></c:addressbook-query>`:    "supported-collation",
			`<c:addressbook-query` + head + `<c:filter test="none"/></c:addressbook-query>`:                                                                                               "supported-filter",
			`<c:addressbook-multiget xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><c:address-data content-type="application/json"/></d:prop></c:addressbook-multiget>`: "supported-address-data",
			`<d:acl-principal-prop-set xmlns:d="DAV:"/>`: "supported-report",
		} {
			if a := d.want(http.StatusForbidden, "REPORT", book, body); !strings.Contains(a.body, want) {
				t.Errorf("%s: %s", want, a.body)
			}
		}
	})
}

// TestXMLBounds: documents that would take too much are refused.
func TestXMLBounds(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		for name, body := range map[string]string{
			"a bomb":            `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><d:propfind xmlns:d="DAV:"><d:prop>&b;</d:prop></d:propfind>`,
			"depth":             strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100),
			"elements":          "<a>" + strings.Repeat("<b/>", 10_001) + "</a>",
			"not well-formed":   "<a><b></a>",
			"two roots":         "<a/><a/>",
			"another root":      "<a/>",
			"an unknown entity": "<a>&nbsp;</a>",
		} {
			d.want(http.StatusBadRequest, "PROPFIND", book, body)
			if a := d.send("REPORT", book, body); a.status != http.StatusBadRequest && name != "another root" {
				t.Errorf("%s: %d", name, a.status)
			}
		}
		if a := d.want(http.StatusForbidden, "PROPFIND", book, "", "Depth", "infinity"); !strings.Contains(a.body, "propfind-finite-depth") {
			t.Error(a.body)
		}
	})
}
