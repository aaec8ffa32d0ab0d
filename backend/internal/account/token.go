package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/proto/catalog"
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
	// Kind is KindDevice for an app password, and otherwise empty.
	Kind string
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

// CreatePersonalToken inserts a personal token and sets its id. It fails with fault.Exhausted if the
// member has MaxTokens live ones, and with ErrAccessEnded if the access that makes it was revoked.
func CreatePersonalToken(ctx context.Context, s *db.DB, t *PersonalToken) error {
	return createToken(ctx, s, t, func(context.Context, db.Querier) error { return nil })
}

// createToken is CreatePersonalToken with something else to do in its transaction.
func createToken(ctx context.Context, s *db.DB, t *PersonalToken, then func(context.Context, db.Querier) error) error {
	tokenID, err := s.NewID(id.Token)
	if err != nil {
		return err
	}
	t.ID, t.CreatedAt = tokenID, s.Now()
	t.Access.Owner = t.MemberID
	// The exclusive lock makes the count right for tokens that are made at the same time.
	return changeAccess(ctx, s, t.Access, func(ctx context.Context, tx db.Querier) error {
		var live int
		err := tx.NewRaw("SELECT count(*) FROM personal_tokens WHERE member_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)",
			t.MemberID, t.CreatedAt).Scan(ctx, &live)
		if err != nil {
			return err
		}
		if live >= MaxTokens {
			return fault.New(fault.Exhausted, "there are %d tokens already: revoke one first", live)
		}
		if _, err := tx.NewInsert().Model(t).Exec(ctx); err != nil {
			return err
		}
		return then(ctx, tx)
	})
}

// ListPersonalTokens returns a member's tokens, newest first, revoked ones included.
func ListPersonalTokens(ctx context.Context, s *db.DB, owner tenant.ID) ([]PersonalToken, error) {
	var tokens []PersonalToken
	err := s.NewSelect().Model(&tokens).Where("member_id = ? AND kind = ''", owner).Order("id DESC").Scan(ctx)
	return tokens, err
}

// TokenNames adds the names of a member's tokens and devices to names, by their ids.
func TokenNames(ctx context.Context, s *db.DB, owner tenant.ID, names map[string]string) error {
	var rows []struct{ ID, Name string }
	err := s.NewSelect().Model((*PersonalToken)(nil)).Column("id", "name").Where("member_id = ?", owner).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return err
}

// RevokePersonalToken revokes a token of the member; it fails with fault.NotFound if
// the member has no such live token.
func RevokePersonalToken(ctx context.Context, s *db.DB, owner tenant.ID, tokenID string, at time.Time) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no live token %q", tokenID),
		"UPDATE personal_tokens SET revoked_at = ? WHERE id = ? AND member_id = ? AND kind = '' AND revoked_at IS NULL", at, tokenID, owner)
}

// SetTokenAsks sets the acts for which a token needs the member's approval. It fails with
// fault.NotFound if the member has no such live token.
func SetTokenAsks(ctx context.Context, s *db.DB, owner tenant.ID, tokenID string, asks tenant.ApprovalPolicy) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no live token %q", tokenID),
		"UPDATE personal_tokens SET asks = ? WHERE id = ? AND member_id = ? AND kind = '' AND revoked_at IS NULL", asks.String(), tokenID, owner)
}

// MarkTokenUsed records when tokens were last used. It never sets an earlier time.
func MarkTokenUsed(ctx context.Context, s *db.DB, tokenID string, at time.Time) error {
	_, err := s.NewWrite(
		"UPDATE personal_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, tokenID, at).Exec(ctx)
	return err
}

// CheckTools fails with fault.Invalid unless a token with the scopes can be limited to
// the tools: each tool exists, is named once and needs no other scopes.
func CheckTools(c *catalog.Catalog, tools, scopes []string) error {
	for i, name := range tools {
		rpc, ok := c.Tool(name)
		switch {
		case !ok:
			return fault.InvalidField("tool", "there is no tool %q%s", name, text.Nearest(context.Background(), c.ToolNames(), name))
		case slices.Contains(tools[:i], name):
			return fault.InvalidField("tool", "%s is named twice", name)
		}
		if missing := rpc.Missing(scopes); len(missing) > 0 {
			return fault.InvalidField("tool", "%s needs the scope %s as well", name, strings.Join(missing, " and "))
		}
	}
	return nil
}

// ScopesOf returns the scopes that the tools need, in the catalogue's order. An unknown
// tool needs none.
func ScopesOf(c *catalog.Catalog, tools []string) []string {
	var needed []string
	for _, name := range tools {
		if rpc, ok := c.Tool(name); ok {
			needed = append(needed, rpc.Scopes...)
		}
	}
	return slices.DeleteFunc(c.Scopes(), func(scope string) bool { return !slices.Contains(needed, scope) })
}

// RevokeEverything ends all access of a member and of their agents: login sessions,
// links to an identity provider, requests for consent, codes, grants with their tokens,
// personal tokens and mail links. It fails with fault.NotFound if there is no such
// member or the account is the sandbox's.
func RevokeEverything(ctx context.Context, s *db.DB, owner tenant.ID) error {
	now := s.Now()
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		result, err := tx.NewRaw("UPDATE members SET updated_at = ?, access_epoch = access_epoch + 1 WHERE id = ?"+Writable, now, owner).Exec(ctx)
		if err := db.MustMeet(result, err, "there is no such member whose access can be revoked"); err != nil {
			return err
		}
		return revokeAll(ctx, tx, owner, now)
	})
	return err
}

// revokeAll ends all access in a transaction that has locked the member and starts a new epoch.
func revokeAll(ctx context.Context, tx db.Querier, owner tenant.ID, now time.Time) error {
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)", []any{owner}},
		{"DELETE FROM login_sessions WHERE member_id = ?", []any{owner}},
		{deleteSteps, []any{owner}},
		{"DELETE FROM mail_links WHERE member_id = ?", []any{owner}},
		{"DELETE FROM linked_identities WHERE member_id = ?", []any{owner}},
		{"DELETE FROM authorization_codes WHERE member_id = ? AND used_at IS NULL", []any{owner}},
		{"UPDATE grants SET revoked_at = ? WHERE member_id = ? AND revoked_at IS NULL", []any{now, owner}},
		{"UPDATE personal_tokens SET revoked_at = ? WHERE member_id = ? AND revoked_at IS NULL", []any{now, owner}},
	} {
		if _, err := tx.NewRaw(step.statement, step.args...).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ReplacePassword sets the password of a member who has lost it, or whose account was
// taken over. It also ends all earlier access, as RevokeEverything does, and decides whose the account
// is if a former address waits to be restored: the address stays. It fails with fault.NotFound if there
// is no such member who may have a password.
func ReplacePassword(ctx context.Context, s *db.DB, owner tenant.ID, hash string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := replacePassword(ctx, s, tx, owner, hash); err != nil {
			return err
		}
		_, err := tx.NewRaw("DELETE FROM not_me_links WHERE member_id = ? AND restores_at IS NOT NULL", owner).Exec(ctx)
		return err
	})
}

func replacePassword(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, hash string) error {
	if err := setPassword(ctx, s, tx, owner, hash); err != nil {
		return err
	}
	return revokeAll(ctx, tx, owner, s.Now())
}
