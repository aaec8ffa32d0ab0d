package oauth

import (
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Error codes of the authorization response (RFC 6749 §4.1.2.1, RFC 8707 §2).
const (
	codeInvalidRequest          = "invalid_request"
	codeUnsupportedResponseType = "unsupported_response_type"
	codeInvalidScope            = "invalid_scope"
	codeInvalidTarget           = "invalid_target"
	codeAccessDenied            = "access_denied"
	codeServerError             = "server_error"
)

// maxState limits the state of a client, in bytes: it is stored with each request.
const maxState = 2 << 10

// authorize checks a request, sends the member to sign in if needed, and asks for
// consent. It shows an error on a page until the client, its redirect URI and the
// member's session are verified: anyone can register a redirect URI, so a link to this
// endpoint must not redirect there by itself.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.Pages.Problem(w, r, http.StatusBadRequest, "This link is broken", "The address of the request cannot be read. Start again at the application.")
		return
	}
	dropEmpty(query)
	session := sync.OnceValues(func() (*account.LoginSession, error) { return s.Sessions.Current(r) })
	c, ok := s.knownClient(w, r, query, session)
	if !ok {
		return
	}
	redirectURI, state := query.Get("redirect_uri"), query.Get("state")
	scopes, refusal := s.checkRequest(query)
	login, err := session()
	switch {
	case err != nil:
		s.unavailable(w, r, "read login session", err)
		return
	case refusal != nil && login == nil:
		s.Pages.Refused(w, r, "Kith refuses the application’s request ("+refusal.Error+"). You were not sent back to it, so it may still be waiting. "+
			"Sign in to send it the error, or close it. Whoever makes the application has to fix that.", s.Sessions.SignIn(withoutPrompt(r.URL, query)))
		return
	case refusal != nil:
		s.sendBack(w, redirectURI, state, url.Values{"error": {refusal.Error}, "error_description": {refusal.Description}})
		return
	case login == nil:
		http.Redirect(w, r, s.Sessions.SignIn(withoutPrompt(r.URL, query)), http.StatusSeeOther)
		return
	}
	if first := s.requiredStep(r.URL, query, login); first != "" {
		http.Redirect(w, r, first, http.StatusSeeOther)
		return
	}
	s.askConsent(w, r, c, login, &Request{
		SessionHash: login.Hash, ClientID: c.ID, RedirectURI: redirectURI, Scopes: strings.Join(scopes, " "),
		Resource: query.Get("resource"), State: state, CodeChallenge: query.Get("code_challenge"),
	})
}

// knownClient returns the client if the redirect URI is one of its own. Otherwise it
// shows the error on a page. A client ID metadata document is fetched for signed-in
// members only: a browser without a session is sent to sign in first.
func (s *Server) knownClient(w http.ResponseWriter, r *http.Request, query url.Values, session func() (*account.LoginSession, error)) (*Client, bool) {
	if len(query["client_id"]) > 1 || len(query["redirect_uri"]) > 1 {
		s.Pages.Problem(w, r, http.StatusBadRequest, "This link is broken", "The application is named twice. Start again at the application.")
		return nil, false
	}
	clientID := query.Get("client_id")
	if s.documents == nil || !IsDocumentURL(clientID) {
		c, err := s.registered(r.Context(), clientID)
		return c, s.checkClient(w, r, query, c, err)
	}
	login, err := session()
	if err != nil {
		s.unavailable(w, r, "read login session", err)
		return nil, false
	}
	if login == nil {
		http.Redirect(w, r, s.Sessions.SignIn(withoutPrompt(r.URL, query)), http.StatusSeeOther)
		return nil, false
	}
	c, err := s.documents.get(r.Context(), clientID, login.MemberID)
	return c, s.checkClient(w, r, query, c, err)
}

// checkClient shows on a page what is wrong with a client or its redirect URI, and
// reports whether both are valid.
func (s *Server) checkClient(w http.ResponseWriter, r *http.Request, query url.Values, c *Client, err error) bool {
	switch {
	case fault.Is(err, fault.NotFound):
		s.Pages.Problem(w, r, http.StatusBadRequest, "Unknown application", "The application that sent you here is not registered (invalid_client). It has to register again.")
	case fault.Is(err, fault.Invalid):
		s.Pages.Problem(w, r, http.StatusBadRequest, "The application cannot be checked", "Kith asked "+hostOf(query.Get("client_id"))+
			" for the application’s description and cannot use it: "+err.Error()+". You were not sent back to the application. Whoever makes it has to fix that.")
	case fault.Is(err, fault.Exhausted):
		w.Header().Set("Retry-After", "30")
		s.Pages.Problem(w, r, http.StatusTooManyRequests, "Too many applications", "You were sent here by many applications that Kith did not know yet. Try again in a minute.")
	case err != nil:
		s.unavailable(w, r, "read client", err)
	case !MatchRedirectURI(c.RedirectURIs, query.Get("redirect_uri")):
		s.Pages.Problem(w, r, http.StatusBadRequest, "Unknown return address", "The application asked to send you to an address that it has not registered. You were not sent there.")
	case CheckRedirectURI(query.Get("redirect_uri"), true) != nil: // registered under earlier rules
		s.Pages.Problem(w, r, http.StatusBadRequest, "Return address not allowed", "Kith no longer accepts the address that the application asked to send you to. You were not sent there. The application has to register again.")
	default:
		return true
	}
	return false
}

// hostOf returns the host of a URL that IsDocumentURL accepts.
func hostOf(documentURL string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(documentURL, "https://"), "/")
	return host
}

// checkRequest returns the requested scopes, or the error to redirect to the client.
func (s *Server) checkRequest(query url.Values) ([]string, *oauthError) {
	if name, repeated := repeatedParameter(query); repeated {
		return nil, &oauthError{codeInvalidRequest, "the parameter " + name + " is given twice"}
	}
	switch {
	case query.Get("response_type") == "":
		return nil, &oauthError{codeInvalidRequest, "response_type is missing"}
	case query.Get("response_type") != "code":
		return nil, &oauthError{codeUnsupportedResponseType, "only response_type=code is supported"}
	case query.Has("response_mode") && query.Get("response_mode") != "query":
		return nil, &oauthError{codeInvalidRequest, "only response_mode=query is supported"}
	}
	if _, ok := maxAgeOf(query); !ok {
		return nil, &oauthError{codeInvalidRequest, "max_age must be a number of seconds"}
	}
	scopes, err := ParseScopes(query.Get("scope"), s.Catalog.Scopes())
	switch {
	case err != nil:
		return nil, &oauthError{codeInvalidScope, err.Error()}
	case len(scopes) == 0: // the specification: omitted means all
		scopes = s.Catalog.Scopes()
	}
	switch {
	case query.Has("resource") && !s.isResource(query.Get("resource")):
		return nil, &oauthError{codeInvalidTarget, "the resource is not one of this service"}
	case query.Get("state") == "":
		return nil, &oauthError{codeInvalidRequest, "state is missing"}
	case !isText(query.Get("state")) || len(query.Get("state")) > maxState:
		return nil, &oauthError{codeInvalidRequest, "state must be text of 2048 bytes at most"}
	case query.Get("code_challenge_method") != "S256":
		return nil, &oauthError{codeInvalidRequest, "code_challenge_method must be S256"}
	case CheckChallenge(query.Get("code_challenge")) != nil:
		return nil, &oauthError{codeInvalidRequest, "code_challenge must be the base64url SHA-256 of the verifier"}
	}
	return scopes, nil
}

// isText reports whether every supported database can store s.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func (s *Server) askConsent(w http.ResponseWriter, r *http.Request, c *Client, login *account.LoginSession, req *Request) {
	secret, err := Generate("")
	if err != nil {
		s.unavailable(w, r, "generate request", err)
		return
	}
	req.Hash = Hash(secret)
	if IsDocumentURL(c.ID) {
		kept := *c // c is shared: the cache has it too
		if err := UpsertClient(r.Context(), s.Store, &kept); err != nil {
			s.unavailable(w, r, "keep client", err)
			return
		}
		c = &kept
	}
	if err := CreateRequest(r.Context(), s.Store, req); err != nil {
		s.unavailable(w, r, "keep request", err)
		return
	}
	view := s.consentView(secret, c, login, req)
	if view.AskFirst, err = asksFirst(r.Context(), s.Store, login.MemberID, c.ID); err != nil {
		s.unavailable(w, r, "read grants", err)
		return
	}
	view.Ticked, view.Address = view.Scopes, r.URL.RequestURI()
	view.Preset, view.Days = suggested(view.Presets), suggestedDays
	s.Pages.Consent(w, r, view)
}

// suggestedDays is for how many days the consent page suggests to allow access.
const suggestedDays = 90

// suggested returns the preset that the consent page suggests: reading and adding, or else the least.
func suggested(presets []Preset) Preset {
	if slices.Contains(presets, PresetAdd) {
		return PresetAdd
	}
	return presets[0]
}

// consentView returns the content of the consent page of a request.
func (s *Server) consentView(secret string, c *Client, login *account.LoginSession, req *Request) ConsentView {
	view := ConsentView{
		Request: secret, Username: login.Username, Locale: login.Locale, ClientName: ShownName(c.Name),
		RedirectURI: req.RedirectURI, Scopes: strings.Fields(req.Scopes), FirstSeen: c.CreatedAt,
	}
	view.Presets = PresetsOf(s.Catalog, view.Scopes)
	if IsDocumentURL(c.ID) {
		view.DocumentURL = c.ID
	}
	return view
}

// addressOf returns the path and query that repeat the same request.
func addressOf(req *Request) string {
	query := url.Values{
		"response_type": {"code"}, "client_id": {req.ClientID}, "redirect_uri": {req.RedirectURI}, "scope": {req.Scopes},
		"state": {req.State}, "code_challenge": {req.CodeChallenge}, "code_challenge_method": {"S256"},
	}
	if req.Resource != "" {
		query.Set("resource", req.Resource)
	}
	return PathAuthorize + "?" + query.Encode()
}

// consent handles the member's answer. The request's secret was shown to one login
// session only. It is answered once; a repetition of the same answer, as from a second
// click, gets the same redirect.
func (s *Server) consent(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.Pages.Problem(w, r, http.StatusBadRequest, "The form cannot be read", "Go back and try again.")
		return
	}
	login, err := s.Sessions.Current(r)
	if err != nil {
		s.unavailable(w, r, "read login session", err)
		return
	}
	if login == nil {
		s.Pages.Problem(w, r, http.StatusForbidden, "You are signed out", "Start again at the application, and sign in when asked.")
		return
	}
	secret := r.PostForm.Get("request")
	if r.PostForm.Get("decision") != "allow" {
		s.finish(w, r, secret, login, nil, url.Values{"error": {codeAccessDenied}, "error_description": {"the member said no"}})
		return
	}
	scopes, tools, err := Preset(r.PostForm.Get("preset")).Apply(s.Catalog, r.PostForm["scope"])
	days, known := daysOf(r.PostForm.Get("days"))
	if err != nil || !known { // nothing changed: show the page again
		s.askAgain(w, r, secret, login)
		return
	}
	if first := s.Sessions.MustEnroll(login); first != "" {
		http.Redirect(w, r, first, http.StatusSeeOther)
		return
	}
	if !login.Fresh(s.Now()) {
		s.confirmFirst(w, r, secret, login)
		return
	}
	code := CodeOf(secret, login.Hash)
	var asks tenant.ApprovalPolicy
	if r.PostForm.Get("ask") == askFirst {
		asks = tenant.ApprovalPolicy{Acts: catalog.Acts(), Above: tenant.DefaultAbove}
	}
	s.finish(w, r, secret, login, &AuthorizationCode{
		Hash: Hash(code), MemberID: login.MemberID, Scopes: strings.Join(scopes, " "), Tools: strings.Join(tools, " "), Asks: asks.String(), Days: days,
		AccessEpoch: login.AccessEpoch, SessionID: login.ID,
	}, url.Values{"code": {code}})
}

// askFirst is the value of the form field "ask" if the member wants to approve sensitive calls of
// the agent.
const askFirst = "first"

// daysOf returns for how many days the member allows access, and whether the form offers that
// choice.
func daysOf(chosen string) (int, bool) {
	for _, days := range Durations() {
		if chosen == strconv.Itoa(days) {
			return days, true
		}
	}
	return 0, false
}

// finish answers the request and sends the browser back to the client.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, secret string, login *account.LoginSession, code *AuthorizationCode, answer url.Values) {
	req, err := DecideRequest(r.Context(), s.Store, Hash(secret), login.Hash, code)
	switch {
	case fault.Is(err, fault.NotFound):
		s.showExpired(w, r, err)
	case errors.Is(err, account.ErrAccessEnded):
		s.Pages.Problem(w, r, http.StatusForbidden, "You were signed out in the meantime", "Nothing was allowed. Start again at the application, and sign in when asked.")
	case fault.Is(err, fault.Invalid): // nothing changed: show the page again
		s.askAgain(w, r, secret, login)
	case err != nil:
		s.unavailable(w, r, "decide request", err)
	default:
		if code != nil && !code.CreatedAt.IsZero() { // not a repetition of the same answer
			s.Events.Record(r.Context(), account.SecurityEvent{
				Kind: account.AgentAllowed, TenantID: login.MemberID, Address: s.address(r), Device: account.DeviceOf(r.UserAgent()),
				SessionID: login.ID, ObjectID: req.ClientID,
			})
		}
		s.sendBack(w, req.RedirectURI, req.State, answer)
	}
}

// showExpired shows that a request can no longer be answered.
func (s *Server) showExpired(w http.ResponseWriter, r *http.Request, err error) {
	text := "Start again at the application."
	if coded, ok := errors.AsType[*fault.Error](err); ok {
		text = coded.Message
	}
	s.Pages.Problem(w, r, http.StatusBadRequest, "This request is over", text)
}

// askAgain shows the page of a request again, with the error of the last answer.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, secret string, login *account.LoginSession) {
	req, err := GetRequest(r.Context(), s.Store, Hash(secret), login.Hash)
	if fault.Is(err, fault.NotFound) {
		s.showExpired(w, r, err)
		return
	}
	if err != nil {
		s.unavailable(w, r, "read request", err)
		return
	}
	c, err := s.client(r.Context(), req.ClientID)
	if err != nil {
		s.unavailable(w, r, "read client", err)
		return
	}
	view := s.consentView(secret, c, login, req)
	view.Ticked, view.Address, view.Preset = r.PostForm["scope"], addressOf(req), Preset(r.PostForm.Get("preset"))
	view.AskFirst = r.PostForm.Get("ask") == askFirst
	var known bool
	view.Days, known = daysOf(r.PostForm.Get("days"))
	switch {
	case !slices.Contains(view.Presets, view.Preset):
		view.Field, view.Mistake = "preset", "Nothing was allowed yet. Choose what it may do."
	case !known:
		view.Field, view.Mistake = "days", "Nothing was allowed yet. Choose how long."
	default:
		view.Field, view.Mistake = "scope", "Nothing was allowed yet. Tick at least one of the things that it asks for, or don’t allow it."
	}
	s.Pages.Consent(w, r, view)
}

// sendBack redirects to a registered redirect URI with the response, the state and the
// issuer (RFC 9207). The bytes of the URI stay unchanged.
func (s *Server) sendBack(w http.ResponseWriter, redirectURI, state string, answer url.Values) {
	answer.Set("iss", s.Issuer)
	if state != "" {
		answer.Set("state", state)
	}
	separator := "?"
	if strings.Contains(redirectURI, "?") {
		separator = "&"
	}
	w.Header().Set("Location", redirectURI+separator+answer.Encode())
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, what string, err error) {
	s.fail(r.Context(), what, err)
	w.Header().Set("Retry-After", "1")
	s.Pages.Problem(w, r, http.StatusServiceUnavailable, "Kith cannot answer right now", "Nothing was granted. Try again in a moment.")
}

// requiredStep returns the address of the page that a member has to complete requiredStep they can consent, or
// an empty string: to set up a second factor, or to reauthenticate. A member reauthenticates if the
// client asks for it by prompt=login or max_age (OpenID Connect Core §3.1.2.1), and if the session
// is no longer fresh.
func (s *Server) requiredStep(u *url.URL, query url.Values, login *account.LoginSession) string {
	if first := s.Sessions.MustEnroll(login); first != "" {
		return first
	}
	maxAge, _ := maxAgeOf(query) // checkRequest has validated it
	now := s.Now()
	if asksForLogin(query) || query.Has("max_age") && now.Sub(login.AuthenticatedAt) > maxAge || !login.Fresh(now) {
		return s.Sessions.Confirm(withoutPrompt(u, query))
	}
	return ""
}

func asksForLogin(query url.Values) bool {
	return slices.Contains(strings.Fields(query.Get("prompt")), "login")
}

// maxAgeOf returns the parameter max_age, and whether it is valid; a missing one is valid.
func maxAgeOf(query url.Values) (time.Duration, bool) {
	if !query.Has("max_age") {
		return 0, true
	}
	seconds, err := strconv.ParseUint(query.Get("max_age"), 10, 31)
	return time.Duration(seconds) * time.Second, err == nil
}

// withoutPrompt returns the path of a request without prompt and max_age. The browser returns to it
// after reauthentication, which these parameters would ask for once more.
func withoutPrompt(u *url.URL, query url.Values) string {
	if !query.Has("prompt") && !query.Has("max_age") {
		return u.RequestURI()
	}
	rest := maps.Clone(query)
	rest.Del("prompt")
	rest.Del("max_age")
	return u.Path + "?" + rest.Encode()
}

// confirmFirst redirects a member whose session is no longer fresh to reauthenticate, and then to a
// new consent page of the same request. It allows nothing.
func (s *Server) confirmFirst(w http.ResponseWriter, r *http.Request, secret string, login *account.LoginSession) {
	req, err := GetRequest(r.Context(), s.Store, Hash(secret), login.Hash)
	switch {
	case fault.Is(err, fault.NotFound):
		s.showExpired(w, r, err)
	case err != nil:
		s.unavailable(w, r, "read request", err)
	default:
		http.Redirect(w, r, s.Sessions.Confirm(addressOf(req)), http.StatusSeeOther)
	}
}

// Destination is where a redirect URI leads, in a form that people can check.
type Destination struct {
	// Scheme is shown before the host; empty for https.
	Scheme string
	// Subdomain is the host before the registrable domain, with its last dot.
	Subdomain string
	// Domain is the registrable domain, in lower-case ASCII: the part of the host that
	// identifies its owner. It is the whole host if there is no such part.
	Domain string
	// Port is the port if the URI names one.
	Port string
	// Loopback is set if the response goes to a program on the member's own computer.
	Loopback bool
}

// DestinationOf returns the destination of uri. It fails with fault.Invalid for a URI
// that cannot be registered, so that a host that imitates another one is never shown;
// private-use schemes are accepted.
func DestinationOf(uri string) (Destination, error) {
	if err := CheckRedirectURI(uri, true); err != nil {
		return Destination{}, err
	}
	u, err := url.Parse(uri)
	if err != nil {
		return Destination{}, err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":"+u.Port())
	d := Destination{Scheme: u.Scheme, Domain: host, Port: u.Port()}
	if web := u.Scheme == "https" || u.Scheme == "http"; !web {
		return d, nil
	}
	d.Loopback = slices.Contains(loopbackHosts(), host)
	if u.Scheme == "https" {
		d.Scheme = ""
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return d, nil
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil { // else: localhost, or a public suffix itself
		d.Subdomain, d.Domain = strings.TrimSuffix(host, domain), domain
	}
	return d, nil
}

// isPlainHost reports whether the host is an IP address or an ASCII domain name in
// its canonical form: no percent-encoding, no trailing dot, internationalised names
// as xn-- (RFC 5891), and a port without leading zeros.
func isPlainHost(u *url.URL) bool {
	host, port := u.Hostname(), u.Port()
	isIPv6 := strings.Contains(host, ":")
	spelt := host
	if isIPv6 {
		spelt = "[" + host + "]"
	}
	if port != "" {
		spelt += ":" + port
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return false
		}
	}
	if spelt != u.Host {
		return false
	}
	host = strings.ToLower(host)
	if isIPv6 || endsInNumber(host) {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Zone() == "" && ip.String() == host
	}
	ascii, err := idna.Registration.ToASCII(host)
	return err == nil && ascii == host && !strings.HasSuffix(host, ".")
}

// endsInNumber reports whether browsers parse a host as an IPv4 address, in any
// notation (URL standard, "ends in a number checker").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.HasPrefix(last, "0x") || last != "" && strings.Trim(last, "0123456789") == ""
}
