package signin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/zitadel/oidc/v3/pkg/client/rp"
	httphelper "github.com/zitadel/oidc/v3/pkg/http"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/oauth2"
)

// party is the provider's configuration for this service, from discovery.
type party struct {
	rp.RelyingParty

	// sendsIssuer is set if each response names the issuer (RFC 9207).
	sendsIssuer bool
}

// metadata is the part of the provider's metadata that rp does not check or keep.
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Userinfo      string   `json:"userinfo_endpoint"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
}

func (about metadata) check(issuer string) error {
	if about.Issuer != issuer {
		return fmt.Errorf("it calls itself %.200q", about.Issuer)
	}
	endpoints := []string{about.Authorization, about.Token, about.Keys}
	if about.Userinfo != "" {
		endpoints = append(endpoints, about.Userinfo)
	}
	for _, address := range endpoints {
		if u, err := url.Parse(address); err != nil || u.Host == "" || !mayServe(u) {
			return fmt.Errorf("its endpoint %.200q is no https address", address)
		}
	}
	return nil
}

// signingAlgorithms are the allowed algorithms of ID tokens: all asymmetric ones, so
// that only the provider's private key can sign a token.
func signingAlgorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// Check returns an error unless the provider answers with metadata that sign-in can use.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.discovered(ctx)
	return err
}

// discovered returns the party. If discovery has not succeeded yet, it asks the
// provider, once for all concurrent callers; after a failure the next call tries again.
func (p *Provider) discovered(ctx context.Context) (*party, error) {
	if known := p.known.Load(); known != nil {
		return known, nil
	}
	found, err, _ := p.discovery.Do("", func() (any, error) {
		// Other callers wait for this too; a caller that disconnects must not cancel it
		// for them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		ctx, outage := watch(ctx)
		found, err := p.discover(ctx)
		if err != nil {
			// An invalid response is treated like an outage: it can be temporary too.
			if noted := outage.Load(); noted != nil {
				err = fmt.Errorf("%w: %w", err, *noted)
			}
			return nil, unavailable(fmt.Errorf("discover %s: %w", p.config.Issuer, err))
		}
		p.known.Store(found)
		return found, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*party), nil
}

func (p *Provider) discover(ctx context.Context) (*party, error) {
	about, err := p.metadata(ctx)
	if err != nil {
		return nil, err
	}
	made, err := rp.NewRelyingPartyOIDC(ctx, p.config.Issuer, p.config.ClientID, p.config.ClientSecret, "", p.config.Scopes,
		rp.WithHTTPClient(p.client), rp.WithAuthStyle(p.authStyle(about.AuthMethods)),
		rp.WithVerifierOpts(rp.WithNonce(nonceOf), rp.WithSupportedSigningAlgorithms(signingAlgorithms()...), rp.WithIssuedAtOffset(clockSkew)))
	if err != nil {
		return nil, err
	}
	return &party{RelyingParty: made, sendsIssuer: about.SendsIssuer}, nil
}

func (p *Provider) metadata(ctx context.Context) (metadata, error) {
	var about metadata
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.config.Issuer, "/")+oidc.DiscoveryEndpoint, nil)
	if err != nil {
		return about, err
	}
	if err := httphelper.HttpRequest(p.client, r, &about); err != nil {
		return about, err
	}
	return about, about.check(p.config.Issuer)
}

// authStyle returns how to send the client's secret: in the header, which every
// provider must accept (RFC 6749, 2.3.1), unless the metadata says that it does not.
func (p *Provider) authStyle(methods []string) oauth2.AuthStyle {
	if p.config.ClientSecret == "" || slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}
