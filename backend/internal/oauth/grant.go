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

// Prefixes of the bearers, so that a leaked one can be recognised.
const (
	PrefixAccessToken  = "kith_at_"
	PrefixRefreshToken = "kith_rt_"
)

// KindOAuth is the tenant.Credential kind of grants.
const KindOAuth = "oauth"

// CodeLifetime is how long an authorization code can be redeemed; fixed by the
// specification.
const CodeLifetime = 60 * time.Second

// MaxRequests is how many requests of one login session wait for consent; a new
// one takes the place of the oldest.
const MaxRequests = 20

// RequestLifetime is how long a consent page waits for its answer.
const RequestLifetime = 10 * time.Minute

// Client is an OAuth client, and its row. All are public clients.
type Client struct {
	// ID is our own for a registered client, and the URL of its client ID metadata
	// document for any other.
	ID           string `bun:",pk"`
	Name         string
	RedirectURIs []string `bun:"redirect_uris,type:text"`
	ClientURI    string
	// GrantTypes and Scope are what the client registered. They bind nobody: what a
	// client asks for, it asks each time, and the member allows it.
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
	Hash          string `bun:",pk"`
	MemberID      tenant.ID
	ClientID      string
	RedirectURI   string
	Scopes        string
	Resource      string
	CodeChallenge string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	UsedAt        time.Time `bun:",nullzero"`
	// GrantID is the grant that the code was redeemed for.
	GrantID string `bun:",nullzero"`
}

// Grant is the durable authorisation that tokens come from, and its row.
type Grant struct {
	ID       string `bun:",pk"`
	MemberID tenant.ID
	ClientID string
	// Scopes are separated by single spaces.
	Scopes     string
	Resource   string
	CreatedAt  time.Time
	LastUsedAt time.Time `bun:",nullzero"`
	RevokedAt  time.Time `bun:",nullzero"`
	// ClientName and ClientRedirectURIs are the client's; read with the grant, kept
	// with the client.
	ClientName         string   `bun:",scanonly"`
	ClientRedirectURIs []string `bun:"client_redirect_uris,type:text,scanonly"`
}

// Pair is a new access token and refresh token, as hashes with their ends.
type Pair struct {
	AccessHash, RefreshHash           string
	AccessExpiresAt, RefreshExpiresAt time.Time
	// Scopes of the access token; empty means those of the grant.
	Scopes string
}

// Generate returns a new secret after prefix.
func Generate(prefix string) (string, error) { return account.NewSecret(prefix) }

// Hash returns the form in which codes, tokens and request secrets are kept.
func Hash(secret string) string { return account.HashSecret(secret) }

// CodeOf returns the authorization code that a request leads to, whenever it is
// answered: so a browser that sends the answer twice, and follows whichever
// redirect comes last, arrives with the one code there is. It takes the request's
// secret, which only the consent page holds, and the session that it was shown to.
func CodeOf(requestSecret, sessionHash string) string {
	mac := hmac.New(sha256.New, []byte(requestSecret))
	mac.Write([]byte("kith authorization code " + sessionHash))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// chooseScopes is Narrow for the member's answer, which has to name an area of those
// asked for: writing alone permits nothing.
func chooseScopes(asked, chosen string) (string, error) {
	kept, err := Narrow(asked, chosen)
	if err == nil && kept == catalog.ScopeWrite && asked != catalog.ScopeWrite {
		err = fault.InvalidField("scope", "choose an area beside it: by itself, %s permits nothing", catalog.ScopeWrite)
	}
	return kept, err
}

// Narrow returns the chosen scopes in the order of those asked for. It fails
// with fault.Invalid when nothing was chosen or something was not asked for.
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
