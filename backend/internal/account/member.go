package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// The plans, cheapest first.
const (
	PlanFree = "free"
	PlanPro  = "pro"
)

// Member is a person with an account, and the row that holds it.
type Member struct {
	ID           tenant.ID `bun:",pk"`
	Username     string
	Email        string
	PasswordHash string
	Timezone     string
	Locale       string
	Plan         string
	SuspendedAt  time.Time `bun:",nullzero"`
	// AccessEpoch grows whenever access is revoked; see Access.
	AccessEpoch int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// EmailVerifiedAt is when the member's address was verified.
	EmailVerifiedAt time.Time `bun:",nullzero"`
	// EmbeddingsHost is the remote embedding provider to which the member allows data
	// about people to be sent; empty for none.
	EmbeddingsHost string
	// StepsHiddenAt is when the member hid the first steps on Today.
	StepsHiddenAt time.Time `bun:",nullzero"`
	// ReadOnly is set for a demo account; it is read by AccountStore and stored with
	// the tenant.
	ReadOnly bool `bun:",scanonly"`
}

// Active reports whether the member is a real, active one: neither a demo account nor
// suspended.
func (m *Member) Active() bool { return !m.ReadOnly && m.SuspendedAt.IsZero() }

// MaySignIn reports whether the member can sign in: active, with a password.
func (m *Member) MaySignIn() bool { return m.Active() && m.PasswordHash != "" }

var usernamePattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])$`)

// reserved names would be mistaken for the service itself, for the people who run it, or for its paths.
func reserved() []string {
	return []string{
		"about", "abuse", "account", "activity", "admin", "administration", "administrator", "agent", "agents", "api",
		"app", "assets", "avatar", "batch", "billing", "blog", "calendar", "connect", "contact", "dav", "decide",
		"demo", "directory", "docs", "forgot", "groups", "help", "helpdesk", "home", "hostmaster", "human", "import",
		"info", "jobs", "kith", "legal", "login", "logout", "mail", "mcp", "me", "member", "members", "moderator",
		"network", "no-reply", "noreply", "not-me", "oauth", "official", "offline", "openapi", "owner", "people", "postmaster",
		"privacy", "profile", "register", "reset", "root", "sandbox", "security", "service", "settings", "sign-in",
		"sign-out", "sign-up", "signin", "signup", "staff", "status", "styleguide", "superuser", "support", "sysadmin", "system",
		"team", "terms", "test", "today", "unsubscribe", "user", "v1", "verify", "webmaster", "well-known", "www",
	}
}

// IsUsername reports whether name has the form of a username.
func IsUsername(name string) bool { return usernamePattern.MatchString(name) }

// CheckUsername fails with fault.Invalid unless name may become a username.
func CheckUsername(name string) error {
	if !IsUsername(name) {
		return fault.InvalidField("username",
			"use 3 to 30 lower-case letters, digits and hyphens, with a letter or digit at both ends")
	}
	if slices.Contains(reserved(), name) {
		return fault.InvalidField("username", "%q is reserved; choose another", name)
	}
	return nil
}

// CheckEmail fails with fault.Invalid unless address is a bare e-mail address,
// and returns it in lower case.
func CheckEmail(address string) (string, error) {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > 254 {
		return "", fault.InvalidField("email", "%q is no e-mail address", address)
	}
	return strings.ToLower(address), nil
}

// CheckPlan fails with fault.Invalid unless the plan exists.
func CheckPlan(plan string) error {
	if plan != PlanFree && plan != PlanPro {
		return fault.InvalidField("plan", "%q is no plan; use %s or %s", plan, PlanFree, PlanPro)
	}
	return nil
}

// LinkPurpose is the purpose of a mail link.
type LinkPurpose string

// The purposes of mail links.
const (
	PurposeVerify LinkPurpose = "verify"
	PurposeReset  LinkPurpose = "reset"
	// PurposeChange changes the member's address to the one to which the link was sent.
	PurposeChange LinkPurpose = "change"
)

// LinkLifetime is how long a mailed link works.
const LinkLifetime = 30 * time.Minute

// MailLink is a single-use link that was mailed to a member, and its row. Only the hash
// of its secret is stored.
type MailLink struct {
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	Purpose  LinkPurpose
	// Email is the member's address when the link was made; the link stops working if it
	// changes. The link was sent to it, or to NewEmail if that is set.
	Email string
	// NewEmail is the address that the member changes to, for PurposeChange.
	NewEmail  string
	CreatedAt time.Time
	ExpiresAt time.Time
	// Username is the member's; it is read with the link but stored with the member.
	Username string `bun:",scanonly"`
}

// SignUp is a person who wants to become a member and was sent a link to verify their
// address, and its row. The member is created only after that, so that an address or a
// username cannot be taken without a verified address. It has no password: the person
// who typed the address may not be the one who reads its mail, so the password is
// chosen after the link is opened.
type SignUp struct {
	Hash     string `bun:",pk"`
	Username string
	Email    string
	// ReturnTo is the path to return to, a path of this service or empty.
	ReturnTo  string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// CreateMember adds a member with an empty, private profile. It fails with
// fault.AlreadyExists if the username or e-mail address is taken.
func CreateMember(ctx context.Context, s *db.DB, m *Member) error {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt, m.UpdatedAt = tenant.ID(memberID), s.Now(), s.Now()
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		return InsertMembers(ctx, tx, []Member{*m}, []Profile{newProfile(m)})
	})
	if db.IsTaken(err) {
		return fault.New(fault.AlreadyExists, "a member with this username or e-mail exists already")
	}
	return err
}

// InsertMembers stores members with the rows that each member has.
func InsertMembers(ctx context.Context, tx db.Querier, members []Member, profiles []Profile) error {
	if _, err := tx.NewInsert().Model(&members).Exec(ctx); err != nil {
		return fmt.Errorf("insert members: %w", err)
	}
	ids := make([]tenant.ID, len(members))
	for i := range members {
		ids[i] = members[i].ID
	}
	_, err := tx.NewRaw("INSERT INTO tenant_states (tenant_id, data_version, read_only) SELECT id, 0, FALSE FROM members WHERE id IN (?)",
		bun.List(ids)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert tenant states: %w", err)
	}
	for i := range profiles {
		profiles[i].Index(text.Fold)
	}
	if _, err := tx.NewInsert().Model(&profiles).Exec(ctx); err != nil {
		return fmt.Errorf("insert profiles: %w", err)
	}
	return nil
}

// GetMember returns the member with a username, or fault.NotFound.
func GetMember(ctx context.Context, s *db.DB, username string) (*Member, error) {
	m := &Member{}
	err := s.NewSelect().Model(m).Where("username = ?", username).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoMember(username)
	}
	return m, err
}

// NoMember returns the fault.NotFound of a username.
func NoMember(username string) error {
	return fault.New(fault.NotFound, "there is no member %q", username)
}

// FindUsername returns the username of the member with an id, an email address, or a credential with an id. It fails
// with fault.NotFound, and with fault.Invalid for something else.
func FindUsername(ctx context.Context, s *db.DB, sought string) (username string, err error) {
	condition, value := "", sought
	switch {
	case id.Valid(id.Member, sought):
		condition = "m.id = ?"
	case id.Valid(id.Token, sought):
		condition = "m.id = (SELECT t.member_id FROM personal_tokens t WHERE t.id = ?)"
	case id.Valid(id.Grant, sought):
		condition = "m.id = (SELECT g.member_id FROM grants g WHERE g.id = ?)"
	case strings.Contains(sought, "@"):
		condition = "m.email = ?"
		if value, err = CheckEmail(sought); err != nil {
			return "", err
		}
	default:
		return "", fault.New(fault.Invalid, "%.60q is not an id of a member (mem_…), a token (pat_…) or a grant (grt_…), and not an email address", sought)
	}
	err = s.NewRaw("SELECT m.username FROM members m WHERE "+condition, value).Scan(ctx, &username)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fault.New(fault.NotFound, "no member has %s", sought)
	}
	return username, err
}

// ListMembers returns all members by username.
func ListMembers(ctx context.Context, s *db.DB) ([]Member, error) {
	var members []Member
	err := s.NewSelect().Model(&members).Order("username").Scan(ctx)
	return members, err
}

// updateOne runs a statement that must affect a row; otherwise it returns missing.
func updateOne(ctx context.Context, s *db.DB, missing error, statement string, args ...any) error {
	result, err := s.NewWrite(statement, args...).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, missing)
	}
	return nil
}

// FindMember finds a member by username or, if login has an @, by e-mail address. It
// fails with fault.NotFound.
func FindMember(ctx context.Context, s *db.DB, login string) (*Member, error) {
	column := "username"
	if strings.Contains(login, "@") {
		column = "email"
	}
	m, err := account(ctx, s, column, strings.ToLower(login))
	return db.Found(m, err, "there is no such member")
}

// GetMemberByID returns a member, or fault.NotFound.
func GetMemberByID(ctx context.Context, s *db.DB, owner tenant.ID) (*Member, error) {
	m, err := account(ctx, s, "id", string(owner))
	return db.Found(m, err, "there is no such member")
}

func account(ctx context.Context, s *db.DB, column, value string) (*Member, error) {
	m := &Member{}
	err := s.NewSelect().Model(m).ColumnExpr("?TableColumns").ColumnExpr("st.read_only").
		Join("JOIN tenant_states AS st ON st.tenant_id = ?TableAlias.id").
		Where("?TableAlias.? = ?", bun.Ident(column), value).Scan(ctx)
	return m, err
}

// Writable is the condition that excludes the sandbox's accounts from a statement on
// members.
const Writable = " AND NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = members.id AND st.read_only)"

// SetPassword replaces the password's hash. It ends all of the member's login sessions, and all open
// links that reset the password or change the address. It starts a new epoch of access, which it
// returns. It fails with fault.NotFound if there is no such member who may have a password, and with
// ErrAccessEnded if the access was revoked.
func SetPassword(ctx context.Context, s *db.DB, a Access, hash string) (Access, error) {
	err := changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		return setPassword(ctx, s, tx, a.Owner, hash)
	})
	return Access{Owner: a.Owner, Epoch: a.Epoch + 1}, err
}

// setPassword is SetPassword in a transaction that has locked the member with changeLock.
func setPassword(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, hash string) error {
	result, err := tx.NewRaw("UPDATE members SET password_hash = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE id = ?"+Writable, hash, s.Now(), owner).Exec(ctx)
	if err := db.MustMeet(result, err, "there is no such member who may have a password"); err != nil {
		return err
	}
	for _, statement := range []string{"DELETE FROM login_sessions WHERE member_id = ?", deleteSteps} {
		if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
			return err
		}
	}
	_, err = tx.NewRaw("DELETE FROM mail_links WHERE member_id = ? AND purpose <> ?", owner, PurposeVerify).Exec(ctx)
	return err
}

// RaisePasswordHash replaces the hash of an unchanged password, and changes nothing else. It does
// nothing if the member's hash has changed in the meantime.
func RaisePasswordHash(ctx context.Context, s *db.DB, owner tenant.ID, hash, upgradedHash string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewRaw("UPDATE members SET password_hash = ? WHERE id = ? AND password_hash = ?"+Writable, upgradedHash, owner, hash).Exec(ctx)
		return err
	})
}

// MarkEmailVerified marks the member's address as verified. It fails with fault.NotFound if
// the address has changed in the meantime.
func MarkEmailVerified(ctx context.Context, s *db.DB, owner tenant.ID, email string) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "the member has another e-mail address by now"),
		markVerified, s.Now(), s.Now(), owner, email)
}

// markVerified stores the first time at which an address was verified.
const markVerified = "UPDATE members SET email_verified_at = coalesce(email_verified_at, ?), updated_at = ? WHERE id = ? AND email = ?" + Writable

// SetEmbeddingsHost stores which remote embedding provider the member allows; empty
// means none. It fails with fault.NotFound if there is no such member who may allow
// one.
func SetEmbeddingsHost(ctx context.Context, s *db.DB, owner tenant.ID, host string) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no such member who may allow an embedding provider"),
		"UPDATE members SET embeddings_host = ?, updated_at = ? WHERE id = ?"+Writable, host, s.Now(), owner)
}

// OwnedTables are the tables of a tenant that must be deleted in this order because of
// their references; the rest is deleted with the member.
func OwnedTables() []string {
	return []string{"changes", "interactions", "notes", "connections", "tags", "organizations"}
}

// DeleteMember deletes a member with all their data and all access that they granted,
// in one transaction. It fails with fault.NotFound or fault.ReadOnly.
func DeleteMember(ctx context.Context, s *db.DB, owner tenant.ID) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		// Every write of a tenant locks this row first, so no other write can run from here on.
		var readOnly bool
		err := tx.NewRaw("UPDATE tenant_states SET data_version = data_version + 1 WHERE tenant_id = ? RETURNING read_only", owner).Scan(ctx, &readOnly)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fault.New(fault.NotFound, "there is no such member")
		case err != nil:
			return err
		case readOnly:
			return fault.New(fault.ReadOnly, "this account is read-only")
		}
		return deleteMember(ctx, tx, owner)
	})
	return err
}

func deleteMember(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	for _, table := range OwnedTables() {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE tenant_id = ?", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	for _, table := range []string{"sign_ups", "provider_attempts"} { // identified by the address only
		if _, err := tx.NewRaw("DELETE FROM ? WHERE email = (SELECT email FROM members WHERE id = ?)", bun.Ident(table), owner).Exec(ctx); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	if _, err := tx.NewRaw("DELETE FROM members WHERE id = ?", owner).Exec(ctx); err != nil {
		return fmt.Errorf("delete member: %w", err)
	}
	return nil
}

// change.Profile is the object kind of a member's profile in changes; its id is the member's.
// The states are whole Profiles, and restoring one replaces the profile. So an undo shows only
// what the member had chosen to show before. If the profile was changed on the settings page
// since, that is a conflict, as with any other object.

// Patch has the changes of a profile that an agent may make; nil fields and empty lists change
// nothing.
type Patch struct {
	Name, Headline, Bio, Location, Organization, Title *string
	Skills                                             []string
	// Hide are fields to make private.
	Hide []string
	// Listed may only be false.
	Listed *bool
}

// Update changes the member's profile on behalf of an agent. It can change texts and hide
// fields, and refuses to show more. It returns the profile and the id of the change, which is
// empty if nothing changed.
func Update(ctx context.Context, w *db.Tx, p Patch) (*Profile, string, error) {
	if err := p.check(); err != nil {
		return nil, "", err
	}
	before, err := GetOwnProfile(ctx, w)
	if err != nil {
		return nil, "", err
	}
	after := before.clone()
	p.apply(after)
	if err := after.Check(); err != nil {
		return nil, "", err
	}
	same := before.clone()
	if err := same.Check(); err == nil && reflect.DeepEqual(same, after) { // an empty list may be written in two ways
		return before, "", nil
	}
	if err := ReplaceProfile(ctx, w, after); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed the member's own profile", history.Profile, string(after.MemberID), before, after))
	return after, changeID, err
}

// check rejects changes that only the member may make.
func (p Patch) check() error {
	if p.Listed != nil && *p.Listed {
		return fault.InvalidField("listed", "an agent can take the page out of the directory, but only the member can put it in: on their settings page")
	}
	if slices.Contains(p.Hide, FieldName) {
		return fault.InvalidField("hide", "a page always shows its name: pass listed false to leave the directory; the member hides the whole page on their settings page")
	}
	return nil
}

func (p Patch) apply(to *Profile) {
	for _, f := range []struct{ field, value *string }{
		{&to.Name, p.Name}, {&to.Headline, p.Headline}, {&to.Bio, p.Bio}, {&to.LocationText, p.Location},
		{&to.Organization, p.Organization}, {&to.Title, p.Title},
	} {
		if f.value != nil {
			*f.field = *f.value
		}
	}
	if to.LocationText == "" && p.Location != nil {
		to.Country = ""
	}
	if len(p.Skills) > 0 {
		to.Skills = p.Skills
	}
	for _, field := range p.Hide {
		if to.FieldVisibility[field] != "" {
			to.FieldVisibility[field] = Private
		}
	}
	if p.Listed != nil {
		to.Listed = false
	}
}

// clone returns a copy that shares no list with p.
func (p *Profile) clone() *Profile {
	out := *p
	out.Skills, out.Languages, out.OpenTo = slices.Clone(p.Skills), slices.Clone(p.Languages), slices.Clone(p.OpenTo)
	out.Links, out.FieldVisibility = slices.Clone(p.Links), maps.Clone(p.FieldVisibility)
	return &out
}
