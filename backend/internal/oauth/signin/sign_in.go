package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/zitadel/oidc/v3/pkg/client/rp"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"golang.org/x/oauth2"
)

// clockSkew is how much the provider's clock may be ahead of ours.
const clockSkew = 10 * time.Second

// maxSubject bounds a subject, in bytes (OpenID Connect Core, 2).
const maxSubject = 255

type nonceKey struct{}

func nonceOf(ctx context.Context) string {
	nonce, _ := ctx.Value(nonceKey{}).(string)
	return nonce
}

// Begin returns the address to send the browser to, and the attempt to store until it
// comes back to redirectURI. The caller adds the browser and the return path. It fails
// with fault.Unavailable while the provider is down.
func (p *Provider) Begin(ctx context.Context, redirectURI string) (address string, a *Attempt, err error) {
	known, err := p.discovered(ctx)
	if err != nil {
		return "", nil, err
	}
	var secrets [3]string
	for i := range secrets {
		if secrets[i], err = account.NewSecret(""); err != nil {
			return "", nil, err
		}
	}
	state, nonce, verifier := secrets[0], secrets[1], secrets[2]
	address = known.OAuthConfig().AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("nonce", nonce), oauth2.SetAuthURLParam("redirect_uri", redirectURI))
	return address, &Attempt{
		Hash: account.HashSecret(state), Issuer: p.config.Issuer, RedirectURI: redirectURI, Nonce: nonce, Verifier: verifier,
	}, nil
}

// Finish checks the response that the browser brought from the provider and returns who
// signed in. The attempt must have been used up. It fails with fault.Unavailable while
// the provider is down, and with fault.Unauthenticated if the response is not the
// expected one.
func (p *Provider) Finish(ctx context.Context, a *Attempt, answer url.Values) (*Identity, error) {
	if err := p.checkState(a, answer); err != nil {
		return nil, refused(err)
	}
	known, err := p.discovered(ctx)
	if err != nil {
		return nil, err
	}
	if err := known.checkIssuer(answer); err != nil {
		return nil, refused(err)
	}
	if err := checkOutcome(answer); err != nil {
		return nil, err
	}
	// Other callers use the fetched keys too: a browser that disconnects must not
	// cancel the request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*timeout)
	defer cancel()
	ctx, outage := watch(ctx)
	identity, err := known.exchange(ctx, a, answer.Get("code"))
	if err != nil {
		return nil, classify(err, outage)
	}
	return identity, nil
}

// checkState rejects a response to another attempt. The attempt was found by the state;
// comparing it here again does not rely on that lookup.
func (p *Provider) checkState(a *Attempt, answer url.Values) error {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(answer[name]) > 1 {
			return fmt.Errorf("the answer has %d values of %s", len(answer[name]), name)
		}
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(account.HashSecret(answer.Get("state"))), []byte(a.Hash)) != 1:
		return errors.New("the answer has another state")
	case a.Nonce == "" || a.Verifier == "" || a.Issuer != p.config.Issuer:
		return fmt.Errorf("the attempt was begun at %q, or is answered already", a.Issuer)
	}
	return nil
}

// checkIssuer rejects a response from another provider (RFC 9207, 2.4).
func (known *party) checkIssuer(answer url.Values) error {
	if !answer.Has("iss") && !known.sendsIssuer {
		return nil
	}
	if answer.Get("iss") != known.Issuer() {
		return fmt.Errorf("the answer is of the issuer %.200q", answer.Get("iss"))
	}
	return nil
}

// checkOutcome rejects a response without a code (RFC 6749, 4.1.2.1).
func checkOutcome(answer url.Values) error {
	if code := answer.Get("error"); code != "" {
		err := fmt.Errorf("the provider answers %.200q: %.200q", code, answer.Get("error_description"))
		if code == "temporarily_unavailable" || code == "server_error" {
			return unavailable(err)
		}
		return refused(err)
	}
	if answer.Get("code") == "" {
		return refused(errors.New("the answer has no code"))
	}
	return nil
}

func (known *party) exchange(ctx context.Context, a *Attempt, code string) (*Identity, error) {
	ctx = context.WithValue(ctx, nonceKey{}, a.Nonce)
	tokens, err := rp.CodeExchange[*oidc.IDTokenClaims](ctx, code, known, rp.WithCodeVerifier(a.Verifier),
		rp.CodeExchangeOpt(rp.WithURLParam("redirect_uri", a.RedirectURI)))
	if err != nil {
		return nil, fmt.Errorf("exchange code: %w", err)
	}
	claims := tokens.IDTokenClaims
	switch {
	case len(claims.Subject) > maxSubject:
		return nil, fmt.Errorf("the subject has %d bytes", len(claims.Subject))
	case strings.ContainsRune(claims.Subject+claims.Email+claims.Name, 0): // PostgreSQL stores none
		return nil, errors.New("a claim has a NUL character")
	}
	identity := &Identity{
		Issuer: claims.Issuer, Subject: claims.Subject, Email: claims.Email, EmailVerified: bool(claims.EmailVerified), Name: claims.Name,
	}
	if identity.Email != "" && identity.EmailVerified || known.UserinfoEndpoint() == "" {
		return identity, nil
	}
	// Many providers omit the address from the token (OpenID Connect Core, 5.4).
	more, err := rp.Userinfo[*oidc.UserInfo](ctx, tokens.AccessToken, tokens.Type(), claims.Subject, known)
	if err != nil {
		return nil, fmt.Errorf("read userinfo: %w", err)
	}
	if strings.ContainsRune(more.Email, 0) {
		return nil, errors.New("the userinfo has a NUL character")
	}
	if more.Email != "" {
		identity.Email, identity.EmailVerified = more.Email, bool(more.EmailVerified)
	}
	return identity, nil
}
