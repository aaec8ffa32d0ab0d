package server

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/password"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/proto/catalog"
)

// Migrate brings the database's schema up to the binary's and returns how many
// steps that took. It is safe to run from many processes at once.
func Migrate(ctx context.Context, databaseURL string) (int, error) {
	return store.Migrate(ctx, store.Config{URL: databaseURL})
}

// Admin does what operators do. It works beside a running server: what it
// changes counts from the next call on.
type Admin struct {
	store  *store.Store
	rpcs   *catalog.Catalog
	events *securityevent.Recorder
	now    func() time.Time
}

// OpenAdmin opens the database, whose schema must be the binary's. credits are
// those of Config; the logger takes security events.
func OpenAdmin(ctx context.Context, databaseURL string, credits map[string]int, logger *slog.Logger) (*Admin, error) {
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	plans, err := credit.NewPlans(credits)
	if err != nil {
		return nil, err
	}
	data, err := store.Open(ctx, store.Config{URL: databaseURL, Plans: plans, MaxConns: 2})
	if err != nil {
		return nil, err
	}
	return &Admin{store: data, rpcs: rpcs, events: securityevent.NewRecorder(data, logger), now: time.Now}, nil
}

// Close gives the database back.
func (a *Admin) Close() error { return a.store.Close() }

// NewMember is a member to be created.
type NewMember struct{ Username, Email, Password, Plan string }

// CreateMember makes a member with an empty, private profile.
func (a *Admin) CreateMember(ctx context.Context, n NewMember) error {
	if err := member.CheckUsername(n.Username); err != nil {
		return err
	}
	email, err := member.CheckEmail(n.Email)
	if err != nil {
		return err
	}
	if err := member.CheckPlan(n.Plan); err != nil {
		return err
	}
	if err := password.Check(n.Password); err != nil {
		return err
	}
	hash, err := password.Hash(n.Password)
	if err != nil {
		return err
	}
	return a.store.CreateMember(ctx, &member.Member{
		Username: n.Username, Email: email, PasswordHash: hash, Timezone: "UTC", Locale: "en", Plan: n.Plan,
	})
}

// MemberInfo is what a list of members shows.
type MemberInfo struct {
	Username, Email, Plan string
	Suspended             bool
	CreatedAt             time.Time
}

// ListMembers returns all members by username.
func (a *Admin) ListMembers(ctx context.Context) ([]MemberInfo, error) {
	members, err := a.store.ListMembers(ctx)
	infos := make([]MemberInfo, len(members))
	for i, m := range members {
		infos[i] = MemberInfo{m.Username, m.Email, m.Plan, !m.SuspendedAt.IsZero(), m.CreatedAt}
	}
	return infos, err
}

// SetPlan changes a member's plan. This month's credits become what the plan's
// allowance leaves after what is spent, and never less than none.
func (a *Admin) SetPlan(ctx context.Context, username, plan string) error {
	if err := member.CheckPlan(plan); err != nil {
		return err
	}
	return a.store.SetPlan(ctx, username, plan, a.now().UTC())
}

// SetPassword replaces a member's password and ends whatever came in with the old
// one, as RevokeEverything does.
func (a *Admin) SetPassword(ctx context.Context, username, plain string) error {
	if err := password.Check(plain); err != nil {
		return err
	}
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return err
	}
	hash, err := password.Hash(plain)
	if err != nil {
		return err
	}
	err = a.store.ReplacePassword(ctx, m.ID, hash)
	return a.record(ctx, err, securityevent.PasswordReset, m.ID, "")
}

// VerifyEmail notes that the member's e-mail address is theirs, and returns it.
func (a *Admin) VerifyEmail(ctx context.Context, username string) (email string, err error) {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return "", err
	}
	return m.Email, a.store.MarkEmailVerified(ctx, m.ID, m.Email)
}

// RevokeEverything ends all login sessions, agents' grants and personal tokens of
// a member. The very next call with one of them is refused.
func (a *Admin) RevokeEverything(ctx context.Context, username string) error {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return err
	}
	err = a.store.RevokeEverything(ctx, m.ID)
	return a.record(ctx, err, securityevent.AccessRevoked, m.ID, "")
}

// NewToken is a personal token to be created.
type NewToken struct {
	Username, Name string
	// Scopes that it holds. None means those that Tools need or, without a limit,
	// all.
	Scopes []string
	// Tools are the names of those that it is limited to; none is no limit.
	Tools []string
	// ExpiresAt is when it ends; zero means never.
	ExpiresAt time.Time
}

// CreateToken makes a personal token of a member and returns what it may do, and
// the bearer, which is not kept.
func (a *Admin) CreateToken(ctx context.Context, n NewToken) (made TokenInfo, bearer string, err error) {
	n.Name = text.Line(n.Name)
	if err := token.CheckName(n.Name); err != nil {
		return made, "", err
	}
	if err := a.checkScopes(&n); err != nil {
		return made, "", err
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(a.now()) {
		return made, "", fault.InvalidField("expires", "%s is over: the token would never work", n.ExpiresAt.UTC().Format(time.RFC3339))
	}
	m, err := a.store.GetMember(ctx, n.Username)
	if err != nil {
		return made, "", err
	}
	if bearer, err = token.Generate(); err != nil {
		return made, "", err
	}
	t := token.PersonalToken{
		MemberID: m.ID, Name: n.Name, Hash: token.Hash(bearer), Scopes: strings.Join(n.Scopes, " "), Tools: strings.Join(n.Tools, " "),
		ExpiresAt: n.ExpiresAt.UTC(),
	}
	err = a.store.CreatePersonalToken(ctx, &t)
	if err := a.record(ctx, err, securityevent.TokenCreated, m.ID, t.ID); err != nil {
		return made, "", err
	}
	return tokenInfo(t), bearer, nil
}

// checkScopes fills in the scopes when none is given, and refuses scopes and tools
// that do not exist or do not fit together.
func (a *Admin) checkScopes(n *NewToken) error {
	for _, scope := range n.Scopes {
		if !a.rpcs.HasScope(scope) {
			return fault.InvalidField("scope", "%q does not exist; there are %s", scope, strings.Join(a.rpcs.Scopes(), ", "))
		}
	}
	if len(n.Scopes) == 0 {
		n.Scopes = a.rpcs.Scopes()
		if len(n.Tools) > 0 {
			n.Scopes = token.ScopesOf(a.rpcs, n.Tools)
		}
	}
	return token.CheckTools(a.rpcs, n.Tools, n.Scopes)
}

// TokenInfo is what a list of tokens shows.
type TokenInfo struct {
	ID, Name                                    string
	Scopes, Tools                               []string
	CreatedAt, ExpiresAt, LastUsedAt, RevokedAt time.Time
}

// ListTokens returns a member's personal tokens, newest first.
func (a *Admin) ListTokens(ctx context.Context, username string) ([]TokenInfo, error) {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return nil, err
	}
	tokens, err := a.store.ListPersonalTokens(ctx, m.ID)
	infos := make([]TokenInfo, len(tokens))
	for i, t := range tokens {
		infos[i] = tokenInfo(t)
	}
	return infos, err
}

func tokenInfo(t token.PersonalToken) TokenInfo {
	return TokenInfo{t.ID, t.Name, strings.Fields(t.Scopes), strings.Fields(t.Tools), t.CreatedAt, t.ExpiresAt, t.LastUsedAt, t.RevokedAt}
}

// RevokeToken ends a member's personal token. The very next call with it is refused.
func (a *Admin) RevokeToken(ctx context.Context, username, tokenID string) error {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return err
	}
	err = a.store.RevokePersonalToken(ctx, m.ID, tokenID, a.now().UTC())
	return a.record(ctx, err, securityevent.AccessRevoked, m.ID, tokenID)
}
