package dav

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
)

func (v *request) report() error {
	root, err := parseXML(v.body)
	if err != nil {
		return err
	}
	if root == nil {
		return &refusal{status: http.StatusBadRequest, text: "The body is no report."}
	}
	if v.to.kind == bookKind {
		switch {
		case root.is(spaceCardDAV, "addressbook-multiget"):
			return v.multiget(root)
		case root.is(spaceCardDAV, "addressbook-query"):
			return v.query(root)
		case root.is(spaceDAV, "sync-collection"):
			return v.sync(root)
		}
	}
	if v.to.kind == calendarKind {
		switch {
		case root.is(spaceCalDAV, "calendar-multiget"):
			return v.multigetEvents(root)
		case root.is(spaceCalDAV, "calendar-query"):
			return v.queryEvents(root)
		}
	}
	return refuse(http.StatusForbidden, spaceDAV, "supported-report", "There is no such report here.")
}

// multiget answers with the cards of some addresses, in the order of the request.
func (v *request) multiget(root *element) error {
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	var hrefs, names []string
	for _, c := range root.children {
		if c.is(spaceDAV, "href") {
			hrefs = append(hrefs, strings.TrimSpace(c.text))
			names = append(names, v.nameOf(hrefs[len(hrefs)-1]))
		}
	}
	found, err := find(v.ctx, v.data, names...)
	if err != nil {
		return err
	}
	var list []entry
	a := v.begin(w, state{})
	answered := map[string]bool{}
	for i, name := range names {
		e, ok := found[name]
		switch {
		case !ok:
			a.missing(hrefs[i])
		case !answered[name]:
			answered[name] = true
			list = append(list, e)
		}
	}
	if err := a.cards(list); err != nil {
		return err
	}
	return a.end()
}

// nameOf returns the name of the card at an address of the member's address book; empty for any other.
func (v *request) nameOf(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	to, err := v.find(u.Path, v.who.Username)
	if err != nil || to.kind != cardKind || !strings.HasPrefix(u.Path, Root) {
		return ""
	}
	return to.name
}

// query answers with the cards that a filter finds.
func (v *request) query(root *element) error {
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	f, err := filterOf(root.child(spaceCardDAV, "filter"))
	if err != nil {
		return err
	}
	limit, err := limitOf(root.child(spaceCardDAV, "limit"), spaceCardDAV)
	if err != nil {
		return err
	}
	if v.r.Header.Get("Depth") == "0" {
		return v.begin(w, state{}).end() // the address book itself is no card
	}
	list, err := entries(v.ctx, v.data, allEntries)
	if err != nil {
		return err
	}
	grouped, _, err := groupEntries(v.ctx, v.data)
	if err != nil {
		return err
	}
	list = append(list, grouped...)
	var matching []entry
	err = read(v.ctx, v.data, list, false, func(c *card) error {
		ok, err := f.matches(c)
		if ok {
			matching = append(matching, c.entry)
		}
		return err
	})
	if err != nil {
		return err
	}
	more := limit > 0 && len(matching) > limit
	if more {
		matching = matching[:limit]
	}
	a := v.begin(w, state{})
	if err := a.cards(matching); err != nil {
		return err
	}
	if more {
		a.full()
	}
	return a.end()
}

// limitOf returns the number of results that an element limits; 0 for no limit.
func limitOf(e *element, space string) (int, error) {
	if e == nil {
		return 0, nil
	}
	n := e.child(space, "nresults")
	if n == nil {
		return 0, nil
	}
	limit, err := strconv.Atoi(strings.TrimSpace(n.text))
	if err != nil || limit < 1 {
		return 0, &refusal{status: http.StatusBadRequest, text: "The limit is not a positive number."}
	}
	return limit, nil
}

// full says that not all results are in the answer.
func (a *answer) full() {
	a.put("<d:response>", tag(davName("href"), escapeXML(a.v.href(resource{kind: bookKind}))), "<d:status>HTTP/1.1 507 Insufficient Storage</d:status>",
		"<d:error><d:number-of-matches-within-limits/></d:error></d:response>")
}

// sync answers with what changed since a sync token (RFC 6578).
func (v *request) sync(root *element) error {
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	limit, err := limitOf(root.child(spaceDAV, "limit"), spaceDAV)
	if err != nil {
		return err
	}
	if level := root.child(spaceDAV, "sync-level"); level != nil && strings.TrimSpace(level.text) == "infinite" {
		return refuse(http.StatusForbidden, spaceDAV, "sync-traversal-supported", "Ask with the sync level 1.")
	}
	since, now := state{version: allEntries}, state{}
	token := root.child(spaceDAV, "sync-token")
	if token != nil && strings.TrimSpace(token.text) != "" {
		var ok bool
		if since, ok = v.parseToken(strings.TrimSpace(token.text)); !ok {
			return v.badToken()
		}
	}
	var list, grouped []entry
	err = v.data.Snapshot(v.ctx, func(ctx context.Context, q db.Reader) (err error) {
		var known int64
		if now, known, err = stateOf(ctx, q); err != nil {
			return err
		}
		valid, err := happened(ctx, q, since)
		if err != nil {
			return err
		}
		if !valid || since.version > now.version || since.version >= 0 && since.version < known {
			return v.badToken()
		}
		if list, err = entries(ctx, q, since.version); err != nil {
			return err
		}
		grouped, now.groups, err = groupEntries(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	more := false
	if limit > 0 && len(list) > limit {
		// What changed in one transaction has one data version, and stays together.
		end := limit
		for end < len(list) && list[end].DataVersion == list[end-1].DataVersion {
			end++
		}
		if more = end < len(list); more {
			list, now.version, now.groups = list[:end], list[end-1].DataVersion, since.groups // the groups come with the last part
		}
	}
	if now.groups != since.groups {
		list = append(list, grouped...) // in which group something changed is not known: the device compares entity tags
	}
	a := v.begin(w, state{})
	var present []entry
	for _, e := range list {
		if e.Gone {
			a.missing(v.href(resource{kind: cardKind, name: e.Name}))
		} else {
			present = append(present, e)
		}
	}
	if err := a.cards(present); err != nil {
		return err
	}
	if more {
		a.full()
	}
	a.put(tag(davName("sync-token"), v.token(now)))
	return a.end()
}

// badToken refuses a sync token. Thunderbird starts again only after a 400, others after what RFC 6578 says.
func (v *request) badToken() error {
	status := http.StatusForbidden
	if strings.Contains(v.r.UserAgent(), "Thunderbird") {
		status = http.StatusBadRequest
	}
	return refuse(status, spaceDAV, "valid-sync-token", "The sync token is not valid here: start again without one.")
}
