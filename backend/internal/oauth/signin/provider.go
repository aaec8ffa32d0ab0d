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

// Config contains the provider and this service's registration with it. Issuer and
// ClientID are required.
type Config struct {
	// Issuer is the provider's address exactly as in its tokens, including a final
	// slash. It is https, except for a loopback address.
	Issuer string
	// ClientID and ClientSecret are the provider's credentials for this service;
	// without a secret it is a public client.
	ClientID, ClientSecret string
	// Name is the label of the provider on buttons; empty means its host.
	Name string
	// Scopes to ask for; nil means openid, email and profile.
	Scopes []string
	// HTTPClient sends the requests to the provider; nil means http.DefaultClient. Each
	// request ends after 5 seconds, and no redirect is followed.
	HTTPClient *http.Client
}

// timeout limits each request to the provider.
const timeout = 5 * time.Second

// maxName limits a provider's name, in characters: it is shown on a button.
const maxName = 40

// Provider is one OpenID provider. It is safe for concurrent use.
type Provider struct {
	config Config
	client *http.Client
	// known is the result of discovery; nil until it has succeeded.
	known     atomic.Pointer[party]
	discovery singleflight.Group
}

// New checks the configuration. It does not contact the provider: the first sign-in
// does, so that the service can start while the provider is down.
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

// Name returns the label of the provider on buttons.
func (p *Provider) Name() string { return p.config.Name }

// Issuer returns the provider's address.
func (p *Provider) Issuer() string { return p.config.Issuer }

// mayServe reports whether an address can be trusted to be the provider's own: https,
// or a loopback address, which is for tests and trials.
func mayServe(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && address.IsLoopback())
}
