package signin

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// AttemptLifetime is how long a person may take at the provider, and then again to
// enter their password.
const AttemptLifetime = 10 * time.Minute

// Attempt is an unfinished sign-in, and its row. First it waits for the provider's
// response; if that names an identity that is not linked, it is replaced by another
// attempt with a Subject and an Email, which waits for the member's password.
type Attempt struct {
	// Hash is the SHA-256 of the state that the provider sends back, or of the
	// secret in the form that asks for the password.
	Hash string `bun:",pk"`
	// BrowserHash is the SHA-256 of the cookie of the browser that started it.
	BrowserHash string
	Issuer      string
	// RedirectURI, Nonce and Verifier were sent to the provider, the last as its S256
	// challenge; empty once the provider has responded.
	RedirectURI, Nonce, Verifier string
	// Subject and Email are from the provider's response; empty until then.
	Subject, Email string
	// ReturnTo is the path to return to, a path of this service or empty.
	ReturnTo             string
	CreatedAt, ExpiresAt time.Time
}

// Identity is what the provider says about the person who signed in.
type Identity struct {
	// Issuer and Subject together are the only permanent identifier of a person.
	Issuer, Subject string
	Email           string
	// EmailVerified is set if the provider has verified the address.
	EmailVerified bool
	Name          string
}

// LinkedIdentity is an identity that a member has linked, and its row.
type LinkedIdentity struct {
	Issuer                string `bun:",pk"`
	Subject               string `bun:",pk"`
	MemberID              tenant.ID
	CreatedAt, LastUsedAt time.Time
	// AccessEpoch is the member's, read with the identity by UseIdentity.
	AccessEpoch int64 `bun:",scanonly"`
}
