package signin

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// AttemptLifetime is how long somebody may take at the provider, and then for
// their password.
const AttemptLifetime = 10 * time.Minute

// Attempt is a sign-in that is not over yet, and its row. First it waits for the
// provider's answer; when that names somebody who is not linked, another one with
// a Subject and an Email takes its place and waits for the member's password.
type Attempt struct {
	// Hash is the SHA-256 of the state that the provider sends back, or of the
	// secret in the form that asks for the password.
	Hash string `bun:",pk"`
	// BrowserHash is the SHA-256 of the cookie of the browser that began it.
	BrowserHash string
	Issuer      string
	// RedirectURI, Nonce and Verifier are what the provider was sent, the last as
	// its S256 challenge; empty once it has answered.
	RedirectURI, Nonce, Verifier string
	// Subject and Email are what the provider answered; empty until then.
	Subject, Email string
	// ReturnTo is where they were going, a path of this service or empty.
	ReturnTo             string
	CreatedAt, ExpiresAt time.Time
}

// Identity is what the provider says of who signed in there.
type Identity struct {
	// Issuer and Subject together name somebody for good; nothing else does.
	Issuer, Subject string
	Email           string
	// EmailVerified tells that the provider knows the address to be theirs.
	EmailVerified bool
	Name          string
}

// LinkedIdentity is somebody at a provider whom a member has shown to be, and its
// row.
type LinkedIdentity struct {
	Issuer                string `bun:",pk"`
	Subject               string `bun:",pk"`
	MemberID              tenant.ID
	CreatedAt, LastUsedAt time.Time
}
