package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
)

// Prefix starts every personal token, so that a leaked one can be recognised.
const Prefix = "kith_pat_"

// KindToken is the tenant.Credential kind of personal tokens.
const KindToken = "token"

// PersonalToken is a personal token, and its row.
type PersonalToken struct {
	ID       string `bun:",pk"`
	MemberID tenant.ID
	Name     string
	Hash     string
	// Scopes are separated by single spaces.
	Scopes string
	// Tools are the names of the tools that it is limited to, separated by single
	// spaces; empty means no limit.
	Tools string
	// Asks are the acts for which it needs the member's approval, as tenant.Asks writes them.
	Asks       string
	CreatedAt  time.Time
	ExpiresAt  time.Time `bun:",nullzero"`
	LastUsedAt time.Time `bun:",nullzero"`
	RevokedAt  time.Time `bun:",nullzero"`
	// Access makes the token. Its owner is MemberID.
	Access Access `bun:"-"`
}

// MaxTokens is how many live personal tokens a member may have.
const MaxTokens = 50

// GenerateToken returns a new token.
func GenerateToken() (string, error) { return NewSecret(Prefix) }

// NewSecret returns the prefix and 32 random bytes in base64url.
func NewSecret(prefix string) (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("generate secret: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(secret), nil
}

// HashSecret returns the form in which a secret is stored and looked up: its SHA-256 in
// hexadecimal. The secret has 256 random bits, so that no salt is needed.
func HashSecret(bearer string) string {
	sum := sha256.Sum256([]byte(bearer))
	return hex.EncodeToString(sum[:])
}

// CheckName fails with fault.Invalid unless the name has 1 to 100 characters.
func CheckName(name string) error {
	if n := len([]rune(name)); n < 1 || n > 100 {
		return fault.InvalidField("name", "use 1 to 100 characters")
	}
	return nil
}

// UseRecorder records when tokens were last used, without a write for each call: it
// collects the times for an interval and then writes the latest time of each token.
type UseRecorder struct {
	mark   func(ctx context.Context, id string, at time.Time) error
	every  time.Duration
	logger *slog.Logger

	mu   sync.Mutex
	used map[string]time.Time

	worker periodic.Worker
	failed logging.Seldom
}

// NewUseRecorder returns a UseRecorder that passes the collected times to mark.
func NewUseRecorder(mark func(ctx context.Context, id string, at time.Time) error, every time.Duration, logger *slog.Logger) *UseRecorder {
	return &UseRecorder{mark: mark, every: every, logger: logger, used: map[string]time.Time{}}
}

// Used records that a token was used. It does not wait for the store. A call that
// arrives late does not set an earlier time.
func (r *UseRecorder) Used(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.used[id]) {
		r.used[id] = at
	}
}

// Flush writes the collected times. If a write fails, its time is dropped: the time is
// not critical, and the next use records it again.
func (r *UseRecorder) Flush(ctx context.Context) {
	r.mu.Lock()
	used := r.used
	r.used = map[string]time.Time{}
	r.mu.Unlock()
	for id, at := range used {
		if err := r.mark(ctx, id, at); err != nil && r.failed.Now() {
			r.logger.WarnContext(ctx, "record the use of a token", "error", err)
		}
	}
}

// Start flushes in the background until Stop.
func (r *UseRecorder) Start(ctx context.Context) { r.worker.Start(ctx, r.every, r.Flush) }

// Stop ends the background work and writes the remaining times.
func (r *UseRecorder) Stop(ctx context.Context) {
	if r.worker.Stop() {
		r.Flush(ctx)
	}
}
