package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// Prefixes of the bearers, so that leaked ones can be recognised.
const (
	PrefixAccessToken  = "kith_at_"
	PrefixRefreshToken = "kith_rt_"
)

// KindOAuth is the tenant.Credential kind of grants.
const KindOAuth = "oauth"

// CodeLifetime is how long an authorization code can be redeemed; the specification
// fixes it.
const CodeLifetime = 60 * time.Second

// MaxRequests is how many requests of one login session can wait for consent; a new one
// replaces the oldest.
const MaxRequests = 20

// RequestLifetime is how long a request waits for consent.
const RequestLifetime = 10 * time.Minute

// Client is an OAuth client, and its row. All are public clients.
type Client struct {
	// ID is generated for a registered client, and is the URL of its client ID metadata
	// document for any other.
	ID           string `bun:",pk"`
	Name         string
	RedirectURIs []string `bun:"redirect_uris,type:text"`
	ClientURI    string
	// GrantTypes and Scope are what the client registered. They are not enforced: each
	// request names its scopes, and the member allows them.
	GrantTypes []string `bun:"grant_types,type:text"`
	Scope      string
	// ApplicationType is web, native or empty.
	ApplicationType string
	CreatedAt       time.Time
	LastUsedAt      time.Time `bun:",nullzero"`
}

// Request is an authorization request that waits for consent, and its row.
type Request struct {
	Hash          string `bun:",pk"`
	SessionHash   string
	ClientID      string
	RedirectURI   string
	Scopes        string
	Resource      string
	State         string
	CodeChallenge string
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// AuthorizationCode is a code's record, and its row.
type AuthorizationCode struct {
	Hash        string `bun:",pk"`
	MemberID    tenant.ID
	ClientID    string
	RedirectURI string
	Scopes      string
	// Tools and Days apply to the new grant: the tools that it is limited to, separated by
	// single spaces, and how many days it lasts; 0 means until it is revoked.
	Tools string
	Days  int
	// Asks says which acts of the new grant need the member's approval, as tenant.Asks writes it.
	Asks          string
	Resource      string
	CodeChallenge string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	UsedAt        time.Time `bun:",nullzero"`
	// AccessEpoch is the member's at the consent. The code ends when access is revoked.
	AccessEpoch int64
	// SessionID is the login session that allows it. It is not stored.
	SessionID string `bun:"-"`
	// GrantID is the grant that the code was exchanged for.
	GrantID string `bun:",nullzero"`
}

// Grant is the durable authorisation from which tokens are issued, and its row.
type Grant struct {
	ID       string `bun:",pk"`
	MemberID tenant.ID
	ClientID string
	// Scopes are separated by single spaces.
	Scopes string
	// Tools are the names of the tools that it is limited to, separated by single
	// spaces; empty means no limit.
	Tools string
	// Asks says which acts need the member's approval, as tenant.Asks writes it.
	Asks      string
	Resource  string
	CreatedAt time.Time
	// ExpiresAt is when the member's permission ends; zero means until it is revoked.
	ExpiresAt  time.Time `bun:",nullzero"`
	LastUsedAt time.Time `bun:",nullzero"`
	// PausedAt is set while the member has paused the agent.
	PausedAt  time.Time `bun:",nullzero"`
	RevokedAt time.Time `bun:",nullzero"`
	// ClientName and ClientRedirectURIs belong to the client; they are read with the
	// grant and stored with the client.
	ClientName         string   `bun:",scanonly"`
	ClientRedirectURIs []string `bun:"client_redirect_uris,type:text,scanonly"`
}

func (g Grant) scopes() []string { return strings.Fields(g.Scopes) }

// Pair is a new access token and refresh token, as hashes with their expiry.
type Pair struct {
	AccessHash, RefreshHash           string
	AccessExpiresAt, RefreshExpiresAt time.Time
	// Scopes of the access token; empty means those of the grant.
	Scopes string
	// answer is the encrypted answer with the tokens; nil if it is not kept.
	answer []byte
}

// endBy returns the pair with no expiry later than the end of its grant.
func (p Pair) endBy(end time.Time) Pair {
	if !end.IsZero() && end.Before(p.AccessExpiresAt) {
		p.AccessExpiresAt = end
	}
	if !end.IsZero() && end.Before(p.RefreshExpiresAt) {
		p.RefreshExpiresAt = end
	}
	return p
}

// Generate returns a new secret with a prefix.
func Generate(prefix string) (string, error) { return account.NewSecret(prefix) }

// Hash returns the form in which codes, tokens and request secrets are stored.
func Hash(secret string) string { return account.HashSecret(secret) }

// CodeOf returns the authorization code of a request, always the same one. So if a
// browser sends the answer twice and follows the last redirect, that redirect has the
// same code. It is derived from the request's secret, which only the consent page
// contains, and the session that the page was shown to.
func CodeOf(requestSecret, sessionHash string) string {
	mac := hmac.New(sha256.New, []byte(requestSecret))
	mac.Write([]byte("kith authorization code " + sessionHash))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// chooseScopes is Narrow for the member's answer, which must name an area of the
// requested ones: the scope for writing alone permits nothing.
func chooseScopes(asked, chosen string) (string, error) {
	kept, err := Narrow(asked, chosen)
	if err == nil && kept == catalog.ScopeWrite && asked != catalog.ScopeWrite {
		err = fault.InvalidField("scope", "choose an area beside it: by itself, %s permits nothing", catalog.ScopeWrite)
	}
	return kept, err
}

// Narrow returns the chosen scopes in the order of the requested ones. It fails with
// fault.Invalid if nothing was chosen or a chosen scope was not requested.
func Narrow(asked, chosen string) (string, error) {
	var kept []string
	for scope := range strings.FieldsSeq(asked) {
		if slices.Contains(strings.Fields(chosen), scope) {
			kept = append(kept, scope)
		}
	}
	if len(kept) == 0 || len(kept) != len(strings.Fields(chosen)) {
		return "", fault.InvalidField("scope", "choose at least one of those asked for, and no other")
	}
	return strings.Join(kept, " "), nil
}
