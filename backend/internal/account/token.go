package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Prefix starts every personal token, so that a leaked one can be recognised.
const Prefix = "kith_pat_"

// KindToken is the tenant.Credential kind of personal tokens.
const KindToken = "token"

// PersonalToken is a bearer's record, and the row that holds it.
type PersonalToken struct {
	ID       string `bun:",pk"`
	MemberID tenant.ID
	Name     string
	Hash     string
	// Scopes are separated by single spaces.
	Scopes string
	// Tools are the names of those that it is limited to, separated by single spaces;
	// empty when it is not.
	Tools      string
	CreatedAt  time.Time
	ExpiresAt  time.Time `bun:",nullzero"`
	LastUsedAt time.Time `bun:",nullzero"`
	RevokedAt  time.Time `bun:",nullzero"`
}

// GenerateToken returns a new bearer.
func GenerateToken() (string, error) { return NewSecret(Prefix) }

// NewSecret returns the prefix and 32 random bytes in base64url.
func NewSecret(prefix string) (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("generate secret: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(secret), nil
}

// HashSecret returns the form in which a bearer is kept and looked up: its SHA-256 in
// hexadecimal. The bearer has 256 random bits, so that no salt is needed.
func HashSecret(bearer string) string {
	sum := sha256.Sum256([]byte(bearer))
	return hex.EncodeToString(sum[:])
}

// CheckName fails with fault.Invalid unless the name can be told apart on a page.
func CheckName(name string) error {
	if n := len([]rune(name)); n < 1 || n > 100 {
		return fault.InvalidField("name", "use 1 to 100 characters")
	}
	return nil
}
