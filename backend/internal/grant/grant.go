package grant

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
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

// Client is a registered OAuth client, and its row. All are public clients.
type Client struct {
	ID           string `bun:",pk"`
	Name         string
	RedirectURIs []string `bun:"redirect_uris,type:text"`
	ClientURI    string
	// GrantTypes and Scope are what the client registered. They bind nobody: what a
	// client asks for, it asks each time, and the member allows it.
	GrantTypes []string `bun:"grant_types,type:text"`
	Scope      string
	CreatedAt  time.Time
	LastUsedAt time.Time `bun:",nullzero"`
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

// Store keeps delegated access. Every transition is one conditional statement
// in one transaction; what comes back is the state that it left.
type Store interface {
	// CreateClient keeps a new client and sets its id.
	CreateClient(ctx context.Context, c *Client) error
	// CreateClientOnce is CreateClient for a request that may be repeated: what
	// render makes of the new client is kept in the same transaction, and comes
	// back in place of another client when the request was answered before. It
	// fails with fault.InFlight, fault.KeyReused and fault.Exhausted, and with
	// fault.Unavailable while no more answers can be kept: then no client is made.
	CreateClientOnce(ctx context.Context, c *Client, k idempotency.Key, render func(*Client) ([]byte, error)) (replayed []byte, err error)
	// GetClient returns a client, or fault.NotFound.
	GetClient(ctx context.Context, id string) (*Client, error)
	// CreateRequest keeps a request for the consent page of a login session. Beyond
	// MaxRequests of that session the oldest is forgotten, as if its time were over.
	CreateRequest(ctx context.Context, r *Request) error
	// GetRequest returns a request of that login session that waits for its answer,
	// or fault.NotFound.
	GetRequest(ctx context.Context, hash, sessionHash string) (*Request, error)
	// DecideRequest answers a request of that login session and returns it. With a
	// code, the code is kept in the same transaction, with the given scopes. The
	// same answer again, with the code of the first and its scopes, changes nothing
	// and comes to the same while that code is unused. fault.NotFound: no such
	// request in this session, not any more, or one that was answered otherwise.
	DecideRequest(ctx context.Context, hash, sessionHash string, code *AuthorizationCode) (*Request, error)
	// GetCode returns a code in whatever state, or fault.NotFound.
	GetCode(ctx context.Context, hash string) (*AuthorizationCode, error)
	// RedeemCode turns an issued code into a grant with a first pair of tokens.
	// For a used one it kills the grant that it was redeemed for; for a used or
	// expired one it fails with fault.Conflict. Beside that error it returns the grant
	// that it killed, of which only the member is set, or nil when it killed none.
	RedeemCode(ctx context.Context, hash string, pair Pair) (*Grant, error)
	// RotateRefreshToken spends the current refresh token of a client's live
	// grant and puts the pair in its place. For a spent one it kills the grant;
	// for that and every other token it fails with fault.Conflict, and returns what
	// it killed as RedeemCode does. Of the live grant only id and scopes are returned.
	RotateRefreshToken(ctx context.Context, hash, clientID string, pair Pair) (*Grant, error)
	// RevokeToken revokes the grant that an access or refresh token of the client
	// belongs to. It returns the member of the grant, or an empty id and no error when
	// the token belongs to no live grant.
	RevokeToken(ctx context.Context, hash, clientID string) (tenant.ID, error)
}

// MemberStore is what a member does with the grants they made.
type MemberStore interface {
	// ListGrants returns a member's live grants, newest first.
	ListGrants(ctx context.Context, member tenant.ID) ([]Grant, error)
	// RevokeAgent ends all access of a client to the member's account, at once: every
	// grant with its tokens, every code not yet redeemed, and every request that
	// waits for consent. It fails with fault.NotFound when there is none of these.
	RevokeAgent(ctx context.Context, member tenant.ID, clientID string) error
}

// Generate returns a new secret after prefix.
func Generate(prefix string) (string, error) { return token.NewSecret(prefix) }

// Hash returns the form in which codes, tokens and request secrets are kept.
func Hash(secret string) string { return token.Hash(secret) }

// CodeOf returns the authorization code that a request leads to, whenever it is
// answered: so a browser that sends the answer twice, and follows whichever
// redirect comes last, arrives with the one code there is. It takes the request's
// secret, which only the consent page holds, and the session that it was shown to.
func CodeOf(requestSecret, sessionHash string) string {
	mac := hmac.New(sha256.New, []byte(requestSecret))
	mac.Write([]byte("kith authorization code " + sessionHash))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Choose is Narrow for the member's answer, which has to name an area of those
// asked for: writing alone permits nothing.
func Choose(asked, chosen string) (string, error) {
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
