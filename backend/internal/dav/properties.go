package dav

import (
	"bufio"
	"context"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func nameIn(space, local string) xml.Name { return xml.Name{Space: space, Local: local} }
func davName(local string) xml.Name       { return nameIn(spaceDAV, local) }
func cardName(local string) xml.Name      { return nameIn(spaceCardDAV, local) }
func calendarName(local string) xml.Name  { return nameIn(spaceCalDAV, local) }

// maxWanted is how many properties a request can ask for: each is looked up for each card.
const maxWanted = 200

// wanted are the properties that a request asks for.
type wanted struct {
	names []xml.Name
	// all is set by allprop: the answer has the usual properties besides the named ones. onlyNames is set by propname: the answer
	// has names of properties without values (RFC 4918, section 9.1).
	all, onlyNames bool
	// data says which data of cards is asked for; nil for none.
	data *addressData
}

// addressData says in which form cards are asked for.
type addressData struct {
	v4 bool
	// only are the names of the only properties, in capital letters; nil for all.
	only []string
}

// wantedOf reads the properties that an element asks for.
func wantedOf(e *element) (w wanted, err error) {
	if e == nil {
		return wanted{all: true}, nil
	}
	w.all, w.onlyNames = e.child(spaceDAV, "allprop") != nil, e.child(spaceDAV, "propname") != nil
	for _, list := range []string{"prop", "include"} {
		names := e.child(spaceDAV, list)
		if names == nil {
			continue
		}
		if len(names.children) > maxWanted {
			return w, tooManyWanted()
		}
		for _, c := range names.children {
			if c.is(spaceCardDAV, "address-data") {
				if w.data, err = addressDataOf(c); err != nil {
					return w, err
				}
			}
			w.names = append(w.names, c.name)
		}
	}
	return w, nil
}

func tooManyWanted() error {
	return fault.New(fault.Invalid, "ask for %d properties at most", maxWanted)
}

func addressDataOf(e *element) (*addressData, error) {
	media, version := e.attribute("content-type"), e.attribute("version")
	if media != "" && !strings.EqualFold(media, "text/vcard") || !slices.Contains([]string{"", "3.0", "4.0"}, version) {
		return nil, refuse(http.StatusForbidden, spaceCardDAV, "supported-address-data", "Cards are text/vcard of version 3.0 or 4.0.")
	}
	if len(e.children) > maxWanted {
		return nil, tooManyWanted()
	}
	d := &addressData{v4: version == "4.0"}
	for _, c := range e.children {
		if c.is(spaceCardDAV, "prop") {
			d.only = append(d.only, strings.ToUpper(c.attribute("name")))
		}
	}
	return d, nil
}

// text returns a card in the form that is asked for.
func (d *addressData) text(c *card) string {
	whole := c.text(!d.v4)
	if d.only == nil {
		return whole
	}
	return only(whole, d.only)
}

// usual are the properties of a resource that allprop asks for.
func (v *request) usual(to resource) []xml.Name {
	names := []xml.Name{davName("resourcetype"), davName("displayname")}
	switch to.kind {
	case cardKind, eventKind:
		return []xml.Name{davName("resourcetype"), davName("getetag"), davName("getcontenttype"), davName("getlastmodified")}
	case calendarKind:
		return append(names, nameIn(spaceServer, "getctag"), davName("supported-report-set"))
	case bookKind:
		return append(names, davName("sync-token"), nameIn(spaceServer, "getctag"), davName("supported-report-set"))
	default:
		return append(names, davName("current-user-principal"))
	}
}

// property returns the value of a property as XML; false if the resource has none. c is the card, of a card, and now the state, of the address book.
func (v *request) property(to resource, c *card, now state, name xml.Name) (value string, ok bool) {
	href := func(to resource) string { return tag(davName("href"), escapeXML(v.href(to))) }
	principal := href(resource{kind: principalKind})
	if value, ok := v.calendarProperty(to, name); ok {
		return value, true
	}
	switch name {
	case davName("resourcetype"):
		return v.resourceType(to), true
	case davName("displayname"):
		return v.displayName(to, c), true
	case davName("current-user-principal"):
		return principal, true
	case davName("owner"), davName("principal-URL"):
		return principal, to.kind != rootKind && (to.kind == principalKind || name != davName("principal-URL"))
	case davName("principal-collection-set"):
		return href(resource{kind: rootKind}), true
	case cardName("addressbook-home-set"):
		return href(resource{kind: homeKind}), to.kind == principalKind
	case calendarName("calendar-home-set"):
		return href(resource{kind: calendarHomeKind}), to.kind == principalKind
	case davName("current-user-privilege-set"):
		return v.privileges(to), true
	case davName("supported-report-set"):
		return reports(to), true
	case davName("sync-token"):
		return v.token(now), to.kind == bookKind
	case nameIn(spaceServer, "getctag"):
		return v.ctag(now), to.kind == bookKind
	case cardName("supported-address-data"):
		// Version 4.0 is read, and written for requests that ask for it. It is not named, because clients then write it, and macOS reads none.
		return `<card:address-data-type content-type="text/vcard" version="3.0"/>`, to.kind == bookKind
	case cardName("supported-collation-set"):
		return collations(), to.kind == bookKind
	case cardName("addressbook-description"):
		return "The people in Kith", to.kind == bookKind
	case cardName("max-resource-size"):
		return strconv.Itoa(MaxBody), to.kind == bookKind
	}
	if c == nil {
		return "", false
	}
	switch name {
	case davName("getetag"):
		return escapeXML(c.etag()), true
	case davName("getcontenttype"):
		return "text/vcard; charset=utf-8", true
	case davName("getlastmodified"):
		return c.person.UpdatedAt.UTC().Format(http.TimeFormat), c.group == nil // the people of a group change without it
	}
	return "", false
}

func (v *request) resourceType(to resource) string {
	switch to.kind {
	case cardKind:
		return ""
	case bookKind:
		return "<d:collection/><card:addressbook/>"
	case principalKind:
		return "<d:collection/><d:principal/>"
	default:
		return "<d:collection/>"
	}
}

func (v *request) displayName(to resource, c *card) string {
	switch {
	case c != nil:
		return escapeXML(c.title())
	case to.kind == principalKind:
		return escapeXML(v.who.DisplayName)
	case to.kind == bookKind:
		return "People"
	default:
		return "Kith"
	}
}

func (v *request) privileges(to resource) string {
	list := []string{"read", "read-current-user-privilege-set"}
	if v.mayWrite() && (to.kind == bookKind || to.kind == cardKind) {
		list = append(list, "write", "write-content")
	}
	if v.mayWrite() && to.kind == bookKind {
		list = append(list, "bind", "unbind")
	}
	var out strings.Builder
	for _, name := range list {
		out.WriteString(tag(davName("privilege"), tag(davName(name), "")))
	}
	return out.String()
}

func reports(to resource) string {
	if to.kind != bookKind {
		return ""
	}
	return reportSet(cardName("addressbook-query"), cardName("addressbook-multiget"), davName("sync-collection"))
}

// reportSet is the value of supported-report-set.
func reportSet(names ...xml.Name) string {
	var out strings.Builder
	for _, name := range names {
		out.WriteString(tag(davName("supported-report"), tag(davName("report"), tag(name, ""))))
	}
	return out.String()
}

// answer writes a multistatus answer.
type answer struct {
	*bufio.Writer

	v      *request
	wanted wanted
	now    state
}

// begin begins a multistatus answer. now is the state, for answers about the address book.
func (v *request) begin(w wanted, now state) *answer {
	v.w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	v.w.WriteHeader(http.StatusMultiStatus)
	a := &answer{bufio.NewWriter(v.w), v, w, now}
	a.put(xmlHead, "<d:multistatus", spaces, ">")
	return a
}

// put writes texts. Errors come back from Flush.
func (a *answer) put(texts ...string) {
	for _, text := range texts {
		_, _ = a.WriteString(text)
	}
}

func (a *answer) end() error {
	a.put("</d:multistatus>\n")
	return a.Flush()
}

// missing adds a resource that does not exist.
func (a *answer) missing(href string) {
	a.put("<d:response>", tag(davName("href"), escapeXML(href)), "<d:status>HTTP/1.1 404 Not Found</d:status></d:response>")
}

// add adds a resource with the properties that were asked for. c is the card, of a card.
func (a *answer) add(to resource, c *card) {
	found, absent := "", ""
	names := a.wanted.names
	if a.wanted.all || a.wanted.onlyNames {
		names = append(a.v.usual(to), names...)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		value, ok := a.v.property(to, c, a.now, name)
		if c != nil && a.wanted.data != nil && name == cardName("address-data") {
			value, ok = escapeXML(a.wanted.data.text(c)), true
			if a.wanted.data.only == nil {
				a.v.give(c)
			}
		}
		switch {
		case ok && a.wanted.onlyNames:
			found += tag(name, "")
		case ok:
			found += tag(name, value)
		default:
			absent += tag(name, "")
		}
	}
	a.put("<d:response>", tag(davName("href"), escapeXML(a.v.href(to))))
	if found != "" || absent == "" {
		a.put("<d:propstat>", tag(davName("prop"), found), "<d:status>HTTP/1.1 200 OK</d:status></d:propstat>")
	}
	if absent != "" {
		a.put("<d:propstat>", tag(davName("prop"), absent), "<d:status>HTTP/1.1 404 Not Found</d:status></d:propstat>")
	}
	a.put("</d:response>")
}

// cards adds cards.
func (a *answer) cards(list []entry) error {
	return read(a.v.ctx, a.v.data, list, a.wanted.data != nil, func(c *card) error {
		a.add(resource{kind: cardKind, name: c.Name}, c)
		return nil
	})
}

func (v *request) propfind() error {
	root, err := parseXML(v.body)
	if err != nil {
		return err
	}
	if root != nil && !root.is(spaceDAV, "propfind") {
		return &refusal{status: http.StatusBadRequest, text: "The body is no propfind."}
	}
	w, err := wantedOf(root)
	if err != nil {
		return err
	}
	depth := v.r.Header.Get("Depth")
	if !slices.Contains([]string{"", "0", "1"}, depth) {
		return refuse(http.StatusForbidden, spaceDAV, "propfind-finite-depth", "Ask with Depth 0 or 1.")
	}
	if v.to.ofCalendars() {
		return v.propfindCalendars(w, depth)
	}
	var now state
	var list []entry
	err = v.data.Snapshot(v.ctx, func(ctx context.Context, q db.Reader) (err error) {
		switch {
		case v.to.kind < homeKind: // the answer says nothing of the address book
			return nil
		case v.to.kind == cardKind:
			var found map[string]entry
			if found, err = find(ctx, q, v.to.name); err == nil {
				e, ok := found[v.to.name]
				if !ok {
					return errNotFound
				}
				list = []entry{e}
			}
			return err
		case v.to.kind == bookKind && depth == "1":
			if list, err = entries(ctx, q, allEntries); err != nil {
				return err
			}
		}
		if now, _, err = stateOf(ctx, q); err != nil {
			return err
		}
		grouped, hash, err := groupEntries(ctx, q)
		if now.groups = hash; depth == "1" && v.to.kind == bookKind {
			list = append(list, grouped...)
		}
		return err
	})
	if err != nil {
		return err
	}
	a := v.begin(w, now)
	if v.to.kind != cardKind {
		a.add(v.to, nil)
		if depth == "1" && v.to.kind < bookKind {
			a.add(resource{kind: v.to.kind + 1}, nil)
			if v.to.kind == principalKind {
				a.add(resource{kind: calendarHomeKind}, nil)
			}
		}
	}
	if err := a.cards(list); err != nil {
		return err
	}
	return a.end()
}

// proppatch refuses to change properties: all of them follow from the member's data.
func (v *request) proppatch() error {
	root, err := parseXML(v.body)
	if err != nil {
		return err
	}
	if !root.is(spaceDAV, "propertyupdate") {
		return &refusal{status: http.StatusBadRequest, text: "The body is no propertyupdate."}
	}
	var names strings.Builder
	for _, change := range root.children {
		if p := change.child(spaceDAV, "prop"); p != nil {
			for _, c := range p.children {
				names.WriteString(tag(c.name, ""))
			}
		}
	}
	a := v.begin(wanted{}, state{})
	a.put("<d:response>", tag(davName("href"), escapeXML(v.href(v.to))), "<d:propstat>", tag(davName("prop"), names.String()),
		"<d:status>HTTP/1.1 403 Forbidden</d:status><d:error><d:cannot-modify-protected-property/></d:error></d:propstat></d:response>")
	return a.end()
}
