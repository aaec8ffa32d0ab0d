// Package dav serves the people of a member to address books of phones and computers: CardDAV (RFC 6352) with synchronisation
// (RFC 6578), on WebDAV (RFC 4918). It serves the member's calendar feeds to calendars in the same way, which only read: CalDAV (RFC 4791).
//
// A member has one address book, whose cards are the people who are not archived. Each device has an app password, which it sends by
// HTTP Basic; cookies never count. What a device changes is recorded like all changes, in the name of the device, and can be undone:
// a deleted card goes to the bin.
//
// A program that knows Nextcloud, such as DAVx⁵, gets its app password by itself, once the member has allowed it in a browser.
//
//	/dav/                                 the root
//	/dav/{username}/                      the principal
//	/dav/{username}/books/                the home of the address books
//	/dav/{username}/books/people/         the address book
//	/dav/{username}/books/people/{…}      a card
//	/dav/{username}/calendars/            the home of the calendars
//	/dav/{username}/calendars/{id}/       the calendar of a feed
//	/dav/{username}/calendars/{id}/{…}    an event
package dav

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/proto/catalog"
)

// The paths of the server.
const (
	Root               = "/dav/"
	WellKnown          = "/.well-known/carddav"
	WellKnownCalendars = "/.well-known/caldav"
)

// PrincipalPath returns the path of a member's principal, from which devices find the address book.
func PrincipalPath(username string) string { return Root + url.PathEscape(username) + "/" }

// MaxBody is the maximum size of a request's body in bytes.
const MaxBody = 1 << 20

// writeTimeout bounds a write, which continues when the device disconnects.
const writeTimeout = 30 * time.Second

// Config configures a Server. All fields are required.
type Config struct {
	// BaseURL is the public address of the service.
	BaseURL string
	Store   *db.DB
	Kinds   history.Kinds
	// Used records when a device was last seen.
	Used func(deviceID string, at time.Time)
	// ClientAddress returns the IP address of the client.
	ClientAddress func(r *http.Request) string
	// Feed returns the entries of a calendar feed, which is the credential of the caller.
	Feed   func(ctx context.Context, who *tenant.Principal) ([]calendar.Entry, error)
	Logger *slog.Logger
}

// Server serves address books. It is safe for concurrent use.
type Server struct {
	Config

	// plain is set if passwords would cross a network unencrypted.
	plain bool
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{Config: c}
	if base, err := url.Parse(c.BaseURL); err == nil && base.Scheme != "https" {
		address := net.ParseIP(base.Hostname())
		s.plain = base.Hostname() != "localhost" && (address == nil || !address.IsLoopback())
	}
	return s
}

// Mount registers the paths of the server.
func (s *Server) Mount(mux *http.ServeMux) {
	for _, path := range []string{WellKnown, WellKnownCalendars} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.BaseURL+Root, http.StatusMovedPermanently)
		})
	}
	mux.Handle(Root, s)
	s.mountLogin(mux)
}

// kind is the kind of a resource.
type kind int

const (
	rootKind kind = iota
	principalKind
	homeKind
	bookKind
	cardKind
	calendarHomeKind
	calendarKind
	eventKind
)

// resource is what a path names.
type resource struct {
	kind kind
	// feed is the id of the feed of a calendar.
	feed string
	// name is the name of a card in the address book, or of an event in its calendar.
	name string
	// events is the calendar, and event the event, once they are read.
	events *eventList
	event  *event
}

// ofCalendars reports whether the resource is a calendar, an event or the home of the calendars.
func (to resource) ofCalendars() bool { return to.kind >= calendarHomeKind }

// request is a request of a device.
type request struct {
	*Server

	w    http.ResponseWriter
	r    *http.Request
	ctx  context.Context
	who  *tenant.Principal
	data *db.Tenant
	// body is the whole body.
	body []byte
	// to is what the path names.
	to resource
	// given and givenGroups are the cards that the device gets.
	given       []deviceCard
	givenGroups []deviceGroup
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("DAV", "1, 3, access-control, addressbook, calendar-access")
	h.Set("Cache-Control", "no-store")
	if s.plain {
		s.fail(w, r, errPlain)
		return
	}
	who, err := s.authenticate(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := &request{Server: s, w: w, r: r, ctx: tenant.WithPrincipal(r.Context(), who), who: who, data: s.Store.Tenant(who.Tenant, who.ReadOnly)}
	if v.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody)); err != nil {
		err = refuse(http.StatusRequestEntityTooLarge, spaceCardDAV, "max-resource-size", "The body has more than 1 MiB, or could not be read.")
	} else if v.to, err = s.find(r.URL.Path, who.Username); err == nil {
		err = v.serve()
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := v.keepGiven(); err != nil { // the answer is sent
		logging.Fail(r.Context(), s.Logger, slog.LevelError, "cards of a device", err.Error())
	}
}

// authenticate returns the principal of the device that sends a request.
func (s *Server) authenticate(r *http.Request) (*tenant.Principal, error) {
	username, password, ok := r.BasicAuth()
	if !ok || len(r.Header.Values("Authorization")) != 1 {
		return nil, fault.New(fault.Unauthenticated, "send the user name and the app password of a device, which you make at /settings/devices")
	}
	who, err := oauth.AuthenticateDevice(r.Context(), s.Store, username, password)
	if err == nil {
		s.Used(who.Credential.ID, s.Store.Now())
	}
	return who, err
}

// errPlain says that passwords would cross a network unencrypted.
var errPlain = &refusal{status: http.StatusForbidden, text: "Contacts are synchronised over https alone: the password would cross the network unencrypted."}

// errNotFound says that a path names nothing.
var errNotFound = &refusal{status: http.StatusNotFound, text: "There is nothing at this address."}

// find returns what a path names. Paths of other members name nothing.
func (s *Server) find(path, username string) (resource, error) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, Root), "/"), "/")
	fixed := []string{username, "books", "people"}
	if len(parts) > 1 && parts[1] == "calendars" {
		fixed[1], fixed[2] = "calendars", parts[min(len(parts)-1, 2)]
	}
	if parts[0] == "" && len(parts) == 1 {
		return resource{kind: rootKind}, nil
	}
	for i, part := range parts {
		if i < len(fixed) && part != fixed[i] || i > len(fixed) || strings.Contains(part, "\x00") { // the database has no text with NUL
			return resource{}, errNotFound
		}
	}
	to := resource{kind: kind(len(parts))}
	if len(parts) > 1 && fixed[1] == "calendars" {
		to.kind += calendarHomeKind - homeKind
		if len(parts) > 2 {
			to.feed = parts[2]
		}
	}
	if len(parts) > len(fixed) {
		to.name = parts[len(fixed)]
	}
	return to, nil
}

// href returns the path of a resource.
func (v *request) href(to resource) string {
	parts := []string{v.who.Username, "books", "people"}[:min(to.kind, bookKind)]
	if to.ofCalendars() {
		parts = []string{v.who.Username, "calendars", url.PathEscape(to.feed)}[:min(to.kind-calendarHomeKind+2, 3)]
	}
	return Root + strings.Join(append(parts, url.PathEscape(to.name)), "/")
}

func (v *request) serve() error {
	if v.to.ofCalendars() && (v.r.Method == http.MethodPut || v.r.Method == http.MethodDelete) {
		return needsPrivileges("The calendars only read: change people, their dates and reminders in Kith.")
	}
	switch v.r.Method {
	case http.MethodOptions:
		v.w.Header().Set("Allow", v.allow())
		v.w.WriteHeader(http.StatusOK)
		return nil
	case "PROPFIND":
		return v.propfind()
	case "PROPPATCH":
		return v.proppatch()
	case "REPORT":
		return v.report()
	case http.MethodGet, http.MethodHead:
		if v.to.ofCalendars() {
			return v.getEvent()
		}
		return v.get()
	case http.MethodPut:
		return v.put()
	case http.MethodDelete:
		return v.delete()
	}
	v.w.Header().Set("Allow", v.allow())
	return &refusal{status: http.StatusMethodNotAllowed, text: "Address books and calendars do not do that."}
}

// allow returns the methods of the resource.
func (v *request) allow() string {
	switch v.to.kind {
	case cardKind:
		return "OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH"
	case eventKind:
		return "OPTIONS, GET, HEAD, PROPFIND, PROPPATCH"
	case bookKind, calendarKind:
		return "OPTIONS, PROPFIND, PROPPATCH, REPORT"
	default:
		return "OPTIONS, PROPFIND, PROPPATCH"
	}
}

// mayWrite reports whether the device may change people.
func (v *request) mayWrite() bool {
	return v.who.Credential.Holds(catalog.ScopeWrite) && !v.who.ReadOnly
}

// write runs fn in a transaction of the member, in the name of the device.
func (v *request) write(fn func(context.Context, *db.Tx) error) error {
	if !v.mayWrite() {
		return needsPrivileges("This device only reads.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), writeTimeout)
	defer cancel()
	return v.data.Write(ctx, db.Actor{CredentialID: v.who.Credential.ID, CredentialName: v.who.Credential.Name}, fn)
}

// refusal is the answer to a request that is refused.
type refusal struct {
	status int
	// condition is the element of the precondition that failed (RFC 4918, section 16); empty for none.
	condition string
	text      string
}

// Error implements error.
func (f *refusal) Error() string { return f.text }

// refuse returns a refusal because of a precondition.
func refuse(status int, space, condition, text string) *refusal {
	return &refusal{status: status, condition: tag(nameIn(space, condition), ""), text: text}
}

// needsPrivileges refuses a change to a device that may not make it (RFC 3744, section 7.1.1).
func needsPrivileges(text string) *refusal {
	return refuse(http.StatusForbidden, spaceDAV, "need-privileges", text)
}

// fail answers a request that failed.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	refused, known := errors.AsType[*refusal](err)
	if !known {
		refused = s.refusalOf(r, err)
	}
	h := w.Header()
	switch refused.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Basic realm="Kith", charset="UTF-8"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Type", "application/xml; charset=utf-8")
	w.WriteHeader(refused.status)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = io.WriteString(w, xmlHead+"<d:error"+spaces+">"+refused.condition+tag(davName("responsedescription"), escapeXML(refused.text))+"</d:error>\n")
}

// refusalOf returns the answer to an error, and logs an internal one.
func (s *Server) refusalOf(r *http.Request, err error) *refusal {
	coded, ok := errors.AsType[*fault.Error](err)
	if !ok {
		logging.Fail(r.Context(), s.Logger, slog.LevelError, "address book", err.Error())
		return &refusal{status: http.StatusInternalServerError, text: "Something went wrong. It is logged."}
	}
	out := &refusal{text: coded.Message, status: map[fault.Code]int{
		fault.Invalid: http.StatusBadRequest, fault.NotFound: http.StatusNotFound, fault.AlreadyExists: http.StatusConflict, fault.Conflict: http.StatusConflict,
		fault.ReadOnly: http.StatusForbidden, fault.Unauthenticated: http.StatusUnauthorized, fault.Exhausted: http.StatusInsufficientStorage,
		fault.Full: http.StatusInsufficientStorage,
	}[coded.Code]}
	if out.status == 0 {
		out.status = http.StatusServiceUnavailable
		logging.Fail(r.Context(), s.Logger, slog.LevelError, "address book", errors.Join(err, errors.Unwrap(err)).Error())
	}
	return out
}
