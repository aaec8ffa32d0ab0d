package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/sync/singleflight"
)

// Config names the provider and this service's registration with it. Issuer and
// ClientID are required.
type Config struct {
	// Issuer is the provider's address as its tokens spell it, to the last slash.
	// It is https, but for a loopback address.
	Issuer string
	// ClientID and ClientSecret are what the provider knows this service by; no
	// secret makes it a public client.
	ClientID, ClientSecret string
	// Name is what the provider is called on buttons; empty means its host.
	Name string
	// Scopes to ask for; nil means openid, email and profile.
	Scopes []string
	// HTTPClient reaches the provider; nil means http.DefaultClient. Each of its
	// requests ends after 5 seconds, and none follows a redirect.
	HTTPClient *http.Client
}

// timeout bounds each request to the provider.
const timeout = 5 * time.Second

// maxName bounds a provider's name, in characters: it stands on a button.
const maxName = 40

// Provider is one OpenID provider. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client
	// known is what discovery found; nil until it has.
	known     atomic.Pointer[party]
	discovery singleflight.Group
}

// New checks the configuration. It does not reach for the provider: that is left
// to the first sign-in, so that a provider which is down keeps nothing else from
// starting.
func New(c Config) (*Provider, error) {
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" || !mayServe(issuer) {
		return nil, errors.New("the identity provider's issuer must be an https address, spelled as the provider spells it")
	}
	if c.ClientID == "" {
		return nil, errors.New("the identity provider needs the client ID that it knows this service by")
	}
	if c.Name = text.Line(c.Name); c.Name == "" {
		c.Name = issuer.Hostname()
	}
	if n := len([]rune(c.Name)); n > maxName {
		return nil, fmt.Errorf("the identity provider's name has %d characters; %d fit on a button", n, maxName)
	}
	if c.Scopes == nil {
		c.Scopes = []string{oidc.ScopeOpenID, oidc.ScopeEmail, oidc.ScopeProfile}
	}
	if !slices.Contains(c.Scopes, oidc.ScopeOpenID) {
		return nil, errors.New("the identity provider's scopes must include openid")
	}
	return &Provider{config: c, client: newClient(c.HTTPClient)}, nil
}

// Name is what the provider is called on buttons.
func (p *Provider) Name() string { return p.config.Name }

// Issuer is the provider's address.
func (p *Provider) Issuer() string { return p.config.Issuer }

// mayServe tells whether an address can be trusted to be the provider's own:
// https, or a loopback address, which is for tests and trying out.
func mayServe(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && address.IsLoopback())
}
