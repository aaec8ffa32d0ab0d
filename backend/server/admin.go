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
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/proto/catalog"
)

// Migrate migrates the database schema to the binary's and returns the number of applied
// migrations. Several processes may call it at once.
func Migrate(ctx context.Context, databaseURL string) (int, error) {
	return store.Migrate(ctx, store.Config{URL: databaseURL})
}

// Admin performs the operator's commands. It works beside a running server, where its
// changes take effect with the next call.
type Admin struct {
	store  *store.Store
	rpcs   *catalog.Catalog
	events *securityevent.Recorder
	now    func() time.Time
}

// OpenAdmin opens the database, whose schema must be the binary's. credits are those of
// Config. Security events are logged to logger.
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

// Close closes the database.
func (a *Admin) Close() error { return a.store.Close() }

// NewMember is a member to be created.
type NewMember struct{ Username, Email, Password, Plan string }

// CreateMember creates a member with an empty, private profile.
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

// MemberInfo is an entry of the list of members.
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

// SetPlan changes a member's plan. The credits left this month become the plan's allowance
// less the credits spent, and at least 0.
func (a *Admin) SetPlan(ctx context.Context, username, plan string) error {
	if err := member.CheckPlan(plan); err != nil {
		return err
	}
	return a.store.SetPlan(ctx, username, plan, a.now().UTC())
}

// SetPassword replaces a member's password and revokes all access, as RevokeEverything
// does.
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

// VerifyEmail marks a member's email address as verified and returns it.
func (a *Admin) VerifyEmail(ctx context.Context, username string) (email string, err error) {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return "", err
	}
	return m.Email, a.store.MarkEmailVerified(ctx, m.ID, m.Email)
}

// RevokeEverything revokes all login sessions, grants of agents and personal tokens of a
// member. The next call with one of them is refused.
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
	// Scopes of the token. None means those that Tools need or, without Tools, all.
	Scopes []string
	// Tools are the names of the tools that it is limited to; none means no limit.
	Tools []string
	// ExpiresAt is when it expires; zero means never.
	ExpiresAt time.Time
}

// CreateToken creates a personal token of a member. It returns its description and the
// token itself, which is not stored.
func (a *Admin) CreateToken(ctx context.Context, n NewToken) (made TokenInfo, bearer string, err error) {
	n.Name = text.Line(n.Name)
	if err := token.CheckName(n.Name); err != nil {
		return made, "", err
	}
	if err := a.checkScopes(&n); err != nil {
		return made, "", err
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(a.now()) {
		return made, "", fault.InvalidField("expires", "%s is in the past", n.ExpiresAt.UTC().Format(time.RFC3339))
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

// checkScopes sets the default scopes if there are none. It returns an error for scopes
// and tools that do not exist or do not fit together.
func (a *Admin) checkScopes(n *NewToken) error {
	for _, scope := range n.Scopes {
		if !a.rpcs.HasScope(scope) {
			return fault.InvalidField("scope", "%q does not exist; valid are %s", scope, strings.Join(a.rpcs.Scopes(), ", "))
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

// TokenInfo is an entry of the list of tokens.
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

// RevokeToken revokes a member's personal token. The next call with it is refused.
func (a *Admin) RevokeToken(ctx context.Context, username, tokenID string) error {
	m, err := a.store.GetMember(ctx, username)
	if err != nil {
		return err
	}
	err = a.store.RevokePersonalToken(ctx, m.ID, tokenID, a.now().UTC())
	return a.record(ctx, err, securityevent.AccessRevoked, m.ID, tokenID)
}

// record records a security event if err is nil, and returns err.
func (a *Admin) record(ctx context.Context, err error, kind securityevent.Kind, owner tenant.ID, object string) error {
	if err == nil {
		a.events.Record(ctx, securityevent.Event{Kind: kind, TenantID: owner, ObjectID: object})
	}
	return err
}

// Suspend suspends a member: from the next call on no sign-in, token or grant works, and
// the profile is not public. Nothing is deleted.
func (a *Admin) Suspend(ctx context.Context, username string) error {
	owner, err := a.store.SuspendMember(ctx, username)
	return a.record(ctx, err, securityevent.MemberSuspended, owner, "")
}

// Resume ends a suspension. The member's tokens and agents work again; browsers have to
// sign in again.
func (a *Admin) Resume(ctx context.Context, username string) error {
	owner, err := a.store.ResumeMember(ctx, username)
	return a.record(ctx, err, securityevent.MemberResumed, owner, "")
}

// ClientInfo is an entry of the list of clients.
type ClientInfo struct {
	ID, Name              string
	Grants                int
	CreatedAt, LastUsedAt time.Time
}

// ListClients returns the OAuth clients that members have authorized.
func (a *Admin) ListClients(ctx context.Context) ([]ClientInfo, error) {
	clients, err := a.store.ListClients(ctx)
	infos := make([]ClientInfo, len(clients))
	for i, c := range clients {
		infos[i] = ClientInfo{c.ID, c.Name, c.Grants, c.CreatedAt, c.LastUsedAt}
	}
	return infos, err
}

// RevokeClient revokes all grants of a client, of all members, and returns their number.
// The next call with one of them is refused.
func (a *Admin) RevokeClient(ctx context.Context, clientID string) (int, error) {
	owners, err := a.store.RevokeClient(ctx, clientID)
	for _, owner := range owners {
		err = a.record(ctx, err, securityevent.AccessRevoked, owner, clientID)
	}
	return len(owners), err
}
