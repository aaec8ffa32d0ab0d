package books

import (
	"cmp"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"

	"github.com/icholy/digest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/sources"
	"golang.org/x/net/publicsuffix"
)

const (
	// maxAnswer bounds an answer of a server, in bytes.
	maxAnswer = 32 << 20
	// maxHops is how many redirects and challenges of one request are followed.
	maxHops = 6
)

// client makes the requests to the server of an address book. We write its XML ourselves: emersion/go-webdav reads cards into a form that
// loses values, and fails for all of them because of one, or because of an ETag without quotes.
type client struct {
	fetcher  *sources.Fetcher
	access   *sources.Access
	home     *url.URL // what the member entered
	digested *digest.Challenge
	digests  int
}

type multistatus struct {
	XMLName   xml.Name   `xml:"DAV: multistatus"`
	Responses []response `xml:"DAV: response"`
}

type response struct {
	Href      string `xml:"DAV: href"`
	Propstats []struct {
		Status string `xml:"DAV: status"`
		Prop   prop   `xml:"DAV: prop"`
	} `xml:"DAV: propstat"`
}

type href struct {
	Href string `xml:"DAV: href"`
}

type prop struct {
	ETag string `xml:"DAV: getetag"`
	Name string `xml:"DAV: displayname"`
	Type struct {
		Collection *struct{} `xml:"DAV: collection"`
		Book       *struct{} `xml:"urn:ietf:params:xml:ns:carddav addressbook"`
	} `xml:"DAV: resourcetype"`
	Principal href   `xml:"DAV: current-user-principal"`
	Homes     []href `xml:"urn:ietf:params:xml:ns:carddav addressbook-home-set"`
	Card      string `xml:"urn:ietf:params:xml:ns:carddav address-data"`
}

// found returns the properties that the resource has.
func (r *response) found() (p prop, ok bool) {
	for _, s := range r.Propstats {
		if strings.Contains(s.Status, " 200") {
			return s.Prop, true
		}
	}
	return p, false
}

// etag returns the entity tag without quotes, which some servers leave out.
func (p *prop) etag() string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(p.ETag), "W/"), `"`)
}

// trusts reports whether the password may be sent to an address: to the host that the member entered and, with https, to others of its domain.
func (c *client) trusts(u *url.URL) bool {
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	}
	if u.Hostname() == c.home.Hostname() && (u.Scheme == c.home.Scheme && port(u) == port(c.home) || u.Scheme == "https" && port(u) == "443") {
		return true
	}
	one, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname())
	other, otherErr := publicsuffix.EffectiveTLDPlusOne(c.home.Hostname())
	return err == nil && otherErr == nil && one == other && u.Scheme == "https" && c.home.Scheme == "https" && port(u) == "443" && port(c.home) == "443"
}

// request makes a WebDAV request, and follows redirects to hosts that the password may be sent to. It returns the address that answered. It
// fails with fault.Invalid if the answer is no multistatus.
func (c *client) request(ctx context.Context, method string, u *url.URL, depth, body string) (*multistatus, *url.URL, error) {
	for range maxHops {
		if err := c.fetcher.Check(u); err != nil {
			return nil, nil, err
		}
		if !c.trusts(u) {
			return nil, nil, fault.New(fault.Invalid, "the server sends to another one, %s; enter that address if you trust it with the password", u.Hostname())
		}
		r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
		if err != nil {
			return nil, nil, fault.New(fault.Invalid, "the address can't be requested")
		}
		r.Header.Set("Content-Type", "application/xml; charset=utf-8")
		r.Header.Set("Depth", depth)
		r.Header.Set("User-Agent", "Kith (address book)")
		if err := c.signIn(r); err != nil {
			return nil, nil, err
		}
		a, err := c.fetcher.Do(r, maxAnswer)
		if err != nil {
			return nil, nil, err
		}
		switch location := a.Header.Get("Location"); {
		case a.Status == http.StatusUnauthorized:
			if err := c.challenge(a.Header); err != nil {
				return nil, nil, err
			}
		case a.Status >= 300 && a.Status < 400 && location != "":
			if u, err = u.Parse(location); err != nil {
				return nil, nil, fault.New(fault.Invalid, "the server sends to an address that is none")
			}
		default:
			m, err := parse(a)
			return m, u, err
		}
	}
	return nil, nil, fault.New(fault.Invalid, "the server sends from one address to the next without an end")
}

// errTooLong says that an answer is longer than maxAnswer.
var errTooLong = fault.New(fault.Invalid, "the server's answer is too long")

func parse(a *sources.Answer) (*multistatus, error) {
	switch {
	case a.Status == http.StatusForbidden:
		return nil, fault.New(fault.Invalid, "the server refuses access to the address book")
	case a.Status >= 500 && a.Status != http.StatusNotImplemented || a.Status == http.StatusTooManyRequests:
		return nil, fault.New(fault.Invalid, "the server answers with status %d", a.Status)
	case a.Status != http.StatusMultiStatus:
		return nil, errNoBook
	case len(a.Body) > maxAnswer:
		return nil, errTooLong
	}
	m := &multistatus{}
	if err := xml.Unmarshal(a.Body, m); err != nil {
		return nil, fault.New(fault.Invalid, "the server's answer can't be read")
	}
	return m, nil
}

// signIn adds the user name and the password to a request.
func (c *client) signIn(r *http.Request) error {
	if c.digested == nil {
		r.SetBasicAuth(c.access.Username, c.access.Password)
		return nil
	}
	c.digests++
	credentials, err := digest.Digest(c.digested, digest.Options{
		Method: r.Method, URI: r.URL.RequestURI(), Username: c.access.Username, Password: c.access.Password, Count: c.digests,
	})
	if err != nil {
		return fault.New(fault.Invalid, "this server asks for a sign-in that Kith does not know")
	}
	r.Header.Set("Authorization", credentials.String())
	return nil
}

// challenge notes how a server wants to be signed in at. It fails with fault.Invalid if it does not take the password, or no password.
func (c *client) challenge(h http.Header) error {
	wants := h.Values("WWW-Authenticate")
	asked, err := digest.FindChallenge(h)
	switch {
	case err == nil && digest.CanDigest(asked) && (c.digested == nil || asked.Stale):
		c.digested, c.digests = asked, 0
		return nil
	case err == nil && digest.CanDigest(asked) || strings.Contains(strings.ToLower(strings.Join(wants, " ")), "basic"):
		return fault.New(fault.Invalid, "the server does not take the user name and the password; most want an app password, which you make there")
	case len(wants) > 0:
		scheme, _, _ := strings.Cut(wants[0], " ")
		return fault.New(fault.Invalid, "this server asks for a sign-in by %s, not by a password", scheme)
	}
	return fault.New(fault.Invalid, "the server does not take the user name and the password")
}
