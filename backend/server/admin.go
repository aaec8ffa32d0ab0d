package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/proto/catalog"
)

// Migrated is what Migrate did.
type Migrated = db.Migrated

// Migrate migrates the database schema to the binary's. With backUp, it first backs up a SQLite database of
// an older version, beside the file. Several processes may call it at once.
func Migrate(ctx context.Context, databaseURL string, backUp bool) (Migrated, error) {
	return db.Migrate(ctx, db.Config{URL: databaseURL, BackUpBefore: backUp})
}

// MigrateInstalled is Migrate for the start of a backend. It refuses to make a new SQLite file where
// the secret key of an installation lies: its database was moved or removed.
func MigrateInstalled(ctx context.Context, databaseURL string, backUp bool) (Migrated, error) {
	file, key := db.File(databaseURL), DefaultSecretKeyFile(databaseURL)
	if file != "" {
		_, database := os.Stat(file)
		_, secret := os.Stat(key)
		if errors.Is(database, fs.ErrNotExist) && secret == nil {
			return Migrated{}, fmt.Errorf("the database %s is gone, but the secret key of its installation is there (%s): put the database back, "+
				"or restore a backup with `kith restore`; `kith migrate` makes an empty one", file, key)
		}
	}
	return Migrate(ctx, databaseURL, backUp)
}

// Admin performs the operator's commands. It works beside a running server, where its
// changes take effect with the next call.
type Admin struct {
	store  *db.DB
	ledger *billing.Ledger
	rpcs   *catalog.Catalog
	events *account.EventRecorder
	now    func() time.Time
	logger *slog.Logger
	// breached says where passwords are looked up.
	breached BreachedPasswords
	// secretKeyFile is the default of KITH_SECRET_KEY_FILE; empty for PostgreSQL.
	secretKeyFile string
}

// OpenAdmin opens the database, which must exist, with the binary's schema. credits are those of
// Config. Security events are logged to logger.
func OpenAdmin(ctx context.Context, databaseURL string, credits map[string]int, logger *slog.Logger) (*Admin, error) {
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	plans, err := billing.NewPlans(credits)
	if err != nil {
		return nil, err
	}
	if file := db.File(databaseURL); file != "" {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no database %s: use the settings of the service, in KITH_DATABASE_URL or with --env-file, "+
				"or run `kith migrate` to make an empty database", file)
		}
	}
	data, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 2})
	if err != nil {
		return nil, err
	}
	ledger := billing.NewLedger(billing.LedgerConfig{DB: data, Plans: plans, Logger: logger})
	return &Admin{store: data, ledger: ledger, rpcs: rpcs, events: account.NewEventRecorder(data, logger, nil), now: time.Now, logger: logger, secretKeyFile: DefaultSecretKeyFile(databaseURL)}, nil
}

// Close closes the database.
func (a *Admin) Close() error { return a.store.Close() }

// RefuseBreached makes CreateMember and SetPassword refuse passwords that are in the lists.
func (a *Admin) RefuseBreached(b BreachedPasswords) { a.breached = b }

func (a *Admin) checkPassword(ctx context.Context, plain string) error {
	policy, err := a.breached.policy(a.logger)
	if err != nil {
		return err
	}
	return policy.Check(ctx, plain)
}

// NewMember is a member to be created.
type NewMember struct{ Username, Email, Password, Plan string }

// CreateMember creates a member with an empty, private profile.
func (a *Admin) CreateMember(ctx context.Context, n NewMember) error {
	if err := account.CheckUsername(n.Username); err != nil {
		return err
	}
	email, err := account.CheckEmail(n.Email)
	if err != nil {
		return err
	}
	if err := account.CheckPlan(n.Plan); err != nil {
		return err
	}
	if err := a.checkPassword(ctx, n.Password); err != nil {
		return err
	}
	hash, err := password.Hash(n.Password)
	if err != nil {
		return err
	}
	return account.CreateMember(ctx, a.store, &account.Member{
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
	members, err := account.ListMembers(ctx, a.store)
	infos := make([]MemberInfo, len(members))
	for i, m := range members {
		infos[i] = MemberInfo{m.Username, m.Email, m.Plan, !m.SuspendedAt.IsZero(), m.CreatedAt}
	}
	return infos, err
}

// SetPlan changes a member's plan. The credits left this month become the plan's allowance
// less the credits spent, and at least 0.
func (a *Admin) SetPlan(ctx context.Context, username, plan string) error {
	if err := account.CheckPlan(plan); err != nil {
		return err
	}
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = a.ledger.SetPlan(ctx, username, plan, a.now().UTC())
	return a.record(ctx, err, account.PlanSet, m.ID, "")
}

// maxStorage is the most storage of a member, in MiB.
const maxStorage = 1 << 30

// SetCredits sets how many credits a member gets each month; nil means as many as the plan gives.
func (a *Admin) SetCredits(ctx context.Context, username string, credits *int) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = a.ledger.SetCredits(ctx, username, credits, a.now().UTC())
	return a.record(ctx, err, account.LimitsSet, m.ID, "")
}

// SetStorage sets how many MiB of photos, uploaded files and recorded changes a member may have: 0 means no limit,
// and nil means KITH_MEMBER_STORAGE.
func (a *Admin) SetStorage(ctx context.Context, username string, mib *int64) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	var bytes *int64
	if mib != nil {
		if *mib < 0 || *mib > maxStorage {
			return fault.InvalidField("storage", "%d is not between 0 and %d MiB", *mib, maxStorage)
		}
		n := *mib << 20
		bytes = &n
	}
	err = a.store.SetQuota(ctx, m.ID, bytes)
	return a.record(ctx, err, account.LimitsSet, m.ID, "")
}

// FindMember returns the username of the member with an id (mem_…), an email address, or a credential: a token
// (pat_…) or a grant (grt_…), as they are in the log.
func (a *Admin) FindMember(ctx context.Context, sought string) (username string, err error) {
	return account.FindUsername(ctx, a.store, sought)
}

// NewSettings are settings of a member to be set; an empty one stays as it is.
type NewSettings struct{ Timezone, Locale string }

// SetSettings changes a member's time zone and locale, as the operator, and returns those
// in force with the present time there. The member can undo it.
func (a *Admin) SetSettings(ctx context.Context, username string, n NewSettings) (now NewSettings, at time.Time, err error) {
	if n == (NewSettings{}) {
		return now, at, fault.New(fault.Invalid, "give --timezone, --locale, or both")
	}
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return now, at, err
	}
	patch := account.SettingsPatch{}
	if n.Timezone != "" {
		patch.Timezone = &n.Timezone
	}
	if n.Locale != "" {
		patch.Locale = &n.Locale
	}
	s, err := account.SaveSettings(ctx, a.store.Tenant(m.ID, false), db.Actor{CredentialName: "the operator", Tool: "kith member set"}, patch)
	err = a.record(ctx, err, account.SettingsSet, m.ID, "")
	return NewSettings{s.Timezone, s.Locale}, a.now().In(civil.Zone(s.Timezone)), err
}

// SetPassword replaces a member's password and revokes all access, as RevokeEverything
// does.
func (a *Admin) SetPassword(ctx context.Context, username, plain string) error {
	if err := a.checkPassword(ctx, plain); err != nil {
		return err
	}
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	hash, err := password.Hash(plain)
	if err != nil {
		return err
	}
	err = account.ReplacePassword(ctx, a.store, m.ID, hash)
	return a.record(ctx, err, account.PasswordReset, m.ID, "")
}

// VerifyEmail marks a member's email address as verified and returns it.
func (a *Admin) VerifyEmail(ctx context.Context, username string) (email string, err error) {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return "", err
	}
	err = account.MarkEmailVerified(ctx, a.store, m.ID, m.Email)
	return m.Email, a.record(ctx, err, account.EmailVerified, m.ID, "")
}

// RevokeEverything revokes all login sessions, grants of agents and personal tokens of a
// member. The next call with one of them is refused.
func (a *Admin) RevokeEverything(ctx context.Context, username string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = account.RevokeEverything(ctx, a.store, m.ID)
	return a.record(ctx, err, account.AccessRevoked, m.ID, "")
}

// ResetFactors removes all second factors of a member, with their recovery codes, and ends their login
// sessions. It fails with fault.NotFound if there are none.
func (a *Admin) ResetFactors(ctx context.Context, username string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = account.DeleteSecondFactors(ctx, a.store, m.ID)
	return a.record(ctx, err, account.FactorsReset, m.ID, "")
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
	if err := account.CheckName(n.Name); err != nil {
		return made, "", err
	}
	if err := a.checkScopes(&n); err != nil {
		return made, "", err
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(a.now()) {
		return made, "", fault.InvalidField("expires", "%s is in the past", n.ExpiresAt.UTC().Format(time.RFC3339))
	}
	m, err := account.GetMember(ctx, a.store, n.Username)
	if err != nil {
		return made, "", err
	}
	if bearer, err = account.GenerateToken(); err != nil {
		return made, "", err
	}
	t := account.PersonalToken{
		MemberID: m.ID, Name: n.Name, Hash: account.HashSecret(bearer), Scopes: strings.Join(n.Scopes, " "), Tools: strings.Join(n.Tools, " "),
		ExpiresAt: n.ExpiresAt.UTC(), Access: m.Access(),
	}
	err = account.CreatePersonalToken(ctx, a.store, &t)
	if err := a.record(ctx, err, account.TokenCreated, m.ID, t.ID); err != nil {
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
			n.Scopes = account.ScopesOf(a.rpcs, n.Tools)
		}
	}
	return account.CheckTools(a.rpcs, n.Tools, n.Scopes)
}

// TokenInfo is an entry of the list of tokens.
type TokenInfo struct {
	ID, Name                                    string
	Scopes, Tools                               []string
	CreatedAt, ExpiresAt, LastUsedAt, RevokedAt time.Time
}

// ListTokens returns a member's personal tokens, newest first.
func (a *Admin) ListTokens(ctx context.Context, username string) ([]TokenInfo, error) {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return nil, err
	}
	tokens, err := account.ListPersonalTokens(ctx, a.store, m.ID)
	infos := make([]TokenInfo, len(tokens))
	for i, t := range tokens {
		infos[i] = tokenInfo(t)
	}
	return infos, err
}

func tokenInfo(t account.PersonalToken) TokenInfo {
	return TokenInfo{t.ID, t.Name, strings.Fields(t.Scopes), strings.Fields(t.Tools), t.CreatedAt, t.ExpiresAt, t.LastUsedAt, t.RevokedAt}
}

// RevokeToken revokes a member's personal token. The next call with it is refused.
func (a *Admin) RevokeToken(ctx context.Context, username, tokenID string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = account.RevokePersonalToken(ctx, a.store, m.ID, tokenID, a.now().UTC())
	return a.record(ctx, err, account.AccessRevoked, m.ID, tokenID)
}

// record records a security event if err is nil, and returns err.
func (a *Admin) record(ctx context.Context, err error, kind account.EventKind, owner tenant.ID, object string) error {
	if err == nil {
		a.events.Record(ctx, account.SecurityEvent{Kind: kind, TenantID: owner, Device: account.CommandLine, ObjectID: object})
	}
	return err
}

// Suspend suspends a member: from the next call on no sign-in, token or grant works, and
// the profile is not public. Nothing is deleted.
func (a *Admin) Suspend(ctx context.Context, username string) error {
	owner, err := account.SuspendMember(ctx, a.store, username)
	return a.record(ctx, err, account.MemberSuspended, owner, "")
}

// Resume ends a suspension. The member's tokens and agents work again; browsers have to
// sign in again.
func (a *Admin) Resume(ctx context.Context, username string) error {
	owner, err := account.ResumeMember(ctx, a.store, username)
	return a.record(ctx, err, account.MemberResumed, owner, "")
}

// ClientInfo is an entry of the list of clients.
type ClientInfo struct {
	ID, Name              string
	Grants                int
	CreatedAt, LastUsedAt time.Time
}

// ListClients returns the OAuth clients that members have authorized.
func (a *Admin) ListClients(ctx context.Context) ([]ClientInfo, error) {
	clients, err := oauth.ListClients(ctx, a.store)
	infos := make([]ClientInfo, len(clients))
	for i, c := range clients {
		infos[i] = ClientInfo{c.ID, c.Name, c.Grants, c.CreatedAt, c.LastUsedAt}
	}
	return infos, err
}

// ClientDetail is what an operator can know about a client.
type ClientDetail struct {
	ID, Name, URI         string
	RedirectURIs          []string
	CreatedAt, LastUsedAt time.Time
	Grants                []ClientGrant
}

// ClientGrant is a live grant of a client.
type ClientGrant struct {
	ID, Username          string
	Scopes                []string
	Paused                bool
	CreatedAt, LastUsedAt time.Time
}

// GetClient returns a client with its live grants, or fails with fault.NotFound.
func (a *Admin) GetClient(ctx context.Context, clientID string) (*ClientDetail, error) {
	c, err := oauth.GetClient(ctx, a.store, clientID)
	if err != nil {
		return nil, err
	}
	grants, err := oauth.ListClientGrants(ctx, a.store, clientID)
	detail := &ClientDetail{ID: c.ID, Name: c.Name, URI: c.ClientURI, RedirectURIs: c.RedirectURIs, CreatedAt: c.CreatedAt, LastUsedAt: c.LastUsedAt}
	for _, g := range grants {
		detail.Grants = append(detail.Grants, ClientGrant{g.ID, g.Username, strings.Fields(g.Scopes), !g.PausedAt.IsZero(), g.CreatedAt, g.LastUsedAt})
	}
	return detail, err
}

// RevokeClient revokes all grants of a client, of all members, and returns their number.
// The next call with one of them is refused.
func (a *Admin) RevokeClient(ctx context.Context, clientID string) (int, error) {
	owners, err := oauth.RevokeClient(ctx, a.store, clientID)
	for _, owner := range owners {
		err = a.record(ctx, err, account.AccessRevoked, owner, clientID)
	}
	return len(owners), err
}

// EventInfo is an entry of the list of a member's security events.
type EventInfo struct {
	At, LastAt                                time.Time
	Kind, Sentence, Device, Network, ObjectID string
}

// ListEvents returns the latest security events of a member, the latest first.
func (a *Admin) ListEvents(ctx context.Context, username string, limit int) ([]EventInfo, error) {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return nil, err
	}
	events, err := account.ListSecurityEvents(ctx, a.store, m.ID, 0, limit)
	infos := make([]EventInfo, len(events))
	for i, e := range events {
		infos[i] = EventInfo{e.At, e.LastAt, string(e.Kind), e.Sentence(""), e.Device, e.Address, e.ObjectID}
	}
	return infos, err
}

// OwnerLinkLifetime is how long an owner link works.
const OwnerLinkLifetime = account.OwnerLinkLifetime

// OwnerLink returns a new link with which the first member creates their account in a browser,
// once; empty if there is a member besides those of the sandbox, or if the server has no public
// address.
func (s *Server) OwnerLink(ctx context.Context) (string, error) {
	if s.pages == nil {
		return "", nil
	}
	link, err := newOwnerLink(ctx, s.store, s.config.BaseURL)
	if fault.Is(err, fault.Conflict) {
		return "", nil
	}
	return link, err
}

// OwnerLink returns a new link that creates the first member, as Server.OwnerLink does. baseURL is
// the public address of the service. It fails if there is a member already.
func (a *Admin) OwnerLink(ctx context.Context, baseURL string) (string, error) {
	link, err := newOwnerLink(ctx, a.store, baseURL)
	if fault.Is(err, fault.Conflict) {
		return "", fault.New(fault.Conflict, "there is a member already: sign in at %s, or create another one with kith member create", baseURL+web.PathSignIn)
	}
	return link, err
}

func newOwnerLink(ctx context.Context, s *db.DB, baseURL string) (string, error) {
	secret, err := account.CreateOwnerLink(ctx, s)
	if err != nil {
		return "", err
	}
	return baseURL + web.PathOwner + "?" + url.Values{web.FieldLink: {secret}}.Encode(), nil
}
