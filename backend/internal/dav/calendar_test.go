package dav_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// found are the names of the events in an answer, in their order.
func found(a answer) (names []string) {
	for part := range strings.SplitSeq(a.body, "<d:href>") {
		href, _, _ := strings.Cut(part, "</d:href>")
		if _, event, ok := strings.Cut(href, "/calendars/"); ok && strings.HasSuffix(event, ".vera@kith.ics") {
			names = append(names, strings.TrimSuffix(event[strings.IndexByte(event, '/')+1:], ".vera@kith.ics"))
		}
	}
	return names
}

// within asks for the events that a filter of the calendar's components finds.
func within(filter string) string {
	return `<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/></prop><c:filter><c:comp-filter name="VCALENDAR">` + filter + `</c:comp-filter></c:filter></c:calendar-query>`
}

// TestCalendarQuery: events are found by their days, in the member's time zone.
func TestCalendarQuery(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		if _, err := s.store.NewWrite("UPDATE members SET timezone = 'America/New_York' WHERE id = ?", s.owner).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		d, home := s.device(true), "/dav/vera/calendars/"+s.feedOf(s.owner, "Dates")+"/"
		span := func(bounds string) string {
			return `<c:comp-filter name="VEVENT"><c:time-range ` + bounds + `/></c:comp-filter>`
		}
		for filter, want := range map[string]string{
			"":                               "dat_1 rem_1 con_1",
			`<c:comp-filter name="VEVENT"/>`: "dat_1 rem_1 con_1",
			`<c:comp-filter name="vevent"/>`: "dat_1 rem_1 con_1",
			`<c:comp-filter name="VTODO"/>`:  "",
			`<c:comp-filter name="VTODO"><c:is-not-defined/></c:comp-filter>`:  "dat_1 rem_1 con_1",
			`<c:comp-filter name="VEVENT"><c:is-not-defined/></c:comp-filter>`: "",
			span(`start="20261224T120000Z" end="20261224T130000Z"`):            "con_1",
			span(`start="20261224T045959Z" end="20261224T050000Z"`):            "", // it is the 23rd in New York
			span(`start="20261225T045959Z" end="20261225T120000Z"`):            "con_1",
			span(`start="20261225T050000Z" end="20261225T120000Z"`):            "",
			span(`start="20261214T120000Z" end="20261214T130000Z"`):            "rem_1",
			span(`start="20270228T120000Z" end="20270228T130000Z"`):            "dat_1",
			span(`start="20280229T120000Z" end="20280229T130000Z"`):            "dat_1",
			span(`start="20280228T120000Z" end="20280228T130000Z"`):            "rem_1",
			span(`end="20000101T000000Z"`):                                     "dat_1",
			span(`end="19800101T000000Z"`):                                     "",
		} {
			if got := strings.Join(found(d.want(http.StatusMultiStatus, "REPORT", home, within(filter))), " "); got != want {
				t.Errorf("%s finds %q, not %q", filter, got, want)
			}
		}
		for _, filter := range []string{
			span(`start="yesterday"`), `<c:prop-filter name="UID"/>`, `<c:comp-filter name="VEVENT"><c:prop-filter name="UID"/></c:comp-filter>`,
			`<c:comp-filter name="VEVENT"><c:comp-filter name="VALARM"/></c:comp-filter>`,
		} {
			if a := d.want(http.StatusForbidden, "REPORT", home, within(filter)); !strings.Contains(a.body, "<cal:supported-filter/>") && !strings.Contains(a.body, "<cal:valid-filter/>") {
				t.Errorf("%s: %s", filter, a.body)
			}
		}
		d.want(http.StatusForbidden, "REPORT", home, `<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><c:filter/></c:calendar-query>`)
		d.want(http.StatusForbidden, "REPORT", home, `<sync-collection xmlns="DAV:"><sync-token/><prop/></sync-collection>`)
		d.want(http.StatusForbidden, "REPORT", home, `<c:free-busy-query xmlns:c="urn:ietf:params:xml:ns:caldav"/>`)
		d.want(http.StatusForbidden, "REPORT", home, `<c:addressbook-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><prop/></c:addressbook-query>`)
	})
}

// TestCalendars: a device finds the calendar feeds of its member, each as a calendar with an event a resource, and reads them.
func TestCalendars(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d, first, second := s.device(false), s.feedOf(s.owner, "Dates"), s.feedOf(s.owner, "<Family>")
		const home = "/dav/vera/calendars/"
		list := d.want(http.StatusMultiStatus, "PROPFIND", home, "", "Depth", "1")
		for _, want := range []string{home + first + "/", home + second + "/", "&lt;Family&gt;", "<cal:calendar/>"} {
			if !strings.Contains(list.body, want) {
				t.Errorf("the calendars lack %s: %s", want, list.body)
			}
		}
		if principal := d.want(http.StatusMultiStatus, "PROPFIND", "/dav/vera/", "", "Depth", "1"); !strings.Contains(principal.body, home) {
			t.Errorf("the principal is %s", principal.body)
		}
		all := d.want(http.StatusMultiStatus, "PROPFIND", home+first+"/", `<propfind xmlns="DAV:"><prop><getetag/><resourcetype/><getcontenttype/></prop></propfind>`, "Depth", "1")
		if diff := cmp.Diff([]string{"dat_1", "rem_1", "con_1"}, found(all)); diff != "" {
			t.Error(diff)
		}
		path := home + first + "/dat_1.vera@kith.ics"
		got := d.want(http.StatusOK, http.MethodGet, path, "")
		if !strings.HasPrefix(got.body, "BEGIN:VCALENDAR\r\n") || strings.Count(got.body, "BEGIN:VEVENT") != 1 || !strings.Contains(all.body, strings.ReplaceAll(got.header.Get("ETag"), `"`, "&#34;")) {
			t.Errorf("%v %s", got.header, got.body)
		}
		d.want(http.StatusNotModified, http.MethodGet, path, "", "If-None-Match", got.header.Get("ETag"))
		if head := d.want(http.StatusOK, http.MethodHead, path, ""); head.body != "" || head.header.Get("ETag") != got.header.Get("ETag") {
			t.Errorf("HEAD: %v %s", head.header, head.body)
		}
		if one := d.want(http.StatusMultiStatus, "PROPFIND", path, "", "Depth", "0"); len(found(one)) != 1 {
			t.Errorf("the event is %s", one.body)
		}
		many := d.want(http.StatusMultiStatus, "REPORT", home+first+"/", `<c:calendar-multiget xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/></prop><href>`+
			path+`</href><href>https://kith.example`+path+`</href><href>`+strings.Replace(path, first, second, 1)+`</href><href>/dav/vera/books/people/a.vcf</href><href>%zz</href></c:calendar-multiget>`)
		if strings.Count(many.body, "404 Not Found") != 3 || strings.Count(many.body, "200 OK") != 1 {
			t.Errorf("the multiget is %s", many.body)
		}
		for path, allow := range map[string]string{home: "OPTIONS, PROPFIND, PROPPATCH", home + first + "/": "OPTIONS, PROPFIND, PROPPATCH, REPORT", path: "OPTIONS, GET, HEAD, PROPFIND, PROPPATCH"} {
			if a := d.want(http.StatusOK, http.MethodOptions, path, ""); a.header.Get("Allow") != allow || !strings.Contains(a.header.Get("DAV"), "calendar-access") {
				t.Errorf("%s allows %v", path, a.header)
			}
			for _, method := range []string{http.MethodPut, http.MethodDelete} {
				if a := d.want(http.StatusForbidden, method, path, "BEGIN:VCALENDAR"); !strings.Contains(a.body, "<d:need-privileges/>") {
					t.Errorf("%s %s: %s", method, path, a.body)
				}
			}
		}
		d.want(http.StatusMethodNotAllowed, http.MethodGet, home+first+"/", "")

		if err := account.RemoveFeed(t.Context(), s.store, s.owner, first); err != nil {
			t.Fatal(err)
		}
		d.want(http.StatusNotFound, http.MethodGet, path, "")
		if list := d.want(http.StatusMultiStatus, "PROPFIND", home, "", "Depth", "1"); strings.Contains(list.body, first) || !strings.Contains(list.body, second) {
			t.Errorf("a removed feed is listed: %s", list.body)
		}
	})
}

// TestCalendarsOfOthers: a device finds nothing of another member's calendars, nor anything that is no calendar.
func TestCalendarsOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		other := dbtest.Member(t, s.store, "mallory")
		mine, theirs, d := s.feedOf(s.owner, "Dates"), s.feedOf(other, "Theirs"), s.deviceOf(other, "mallory", false)
		for _, path := range []string{
			"/dav/vera/calendars/", "/dav/vera/calendars/" + mine + "/", "/dav/vera/calendars/" + mine + "/dat_1.vera@kith.ics", "/dav/mallory/calendars/" + mine + "/",
			"/dav/mallory/calendars/" + mine + "/dat_1.vera@kith.ics", "/dav/mallory/calendars/" + d.id + "/", "/dav/mallory/calendars/x/", "/dav/mallory/calendars/" + theirs + "/x.ics",
			"/dav/mallory/calendars/" + theirs + "/dat_1.vera@kith", "/dav/mallory/calendars/" + theirs + "/a/b", "/dav/mallory/calendars/%00/", "/dav/mallory/calendars/" + theirs + "/%00.ics",
		} {
			d.want(http.StatusNotFound, "PROPFIND", path, "", "Depth", "0")
			if a := d.send(http.MethodGet, path, ""); a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s: %d %s", path, a.status, a.body)
			}
		}
		if list := d.want(http.StatusMultiStatus, "PROPFIND", "/dav/mallory/calendars/", "", "Depth", "1"); strings.Contains(list.body, mine) || !strings.Contains(list.body, theirs) {
			t.Errorf("the calendars are %s", list.body)
		}
		get := `<c:calendar-multiget xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><c:calendar-data/></prop><href>/dav/vera/calendars/` + mine + `/dat_1.vera@kith.ics</href></c:calendar-multiget>`
		if a := d.want(http.StatusMultiStatus, "REPORT", "/dav/mallory/calendars/"+theirs+"/", get); strings.Contains(a.body, "BEGIN:") {
			t.Errorf("it reads %s", a.body)
		}
	})
}
