package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

const deadLink = "the link was used already or has expired"

// CreateMailLink stores a link for LinkLifetime.
func CreateMailLink(ctx context.Context, s *db.DB, l *MailLink) error {
	l.CreatedAt = s.Now()
	l.ExpiresAt = l.CreatedAt.Add(LinkLifetime)
	_, err := s.NewInsert().Model(l).Exec(ctx)
	return err
}

// GetMailLink returns a valid link, without using it up.
func GetMailLink(ctx context.Context, s *db.DB, hash string, purpose LinkPurpose) (*MailLink, error) {
	l := &MailLink{}
	err := s.NewSelect().Model(l).ColumnExpr("?TableColumns").ColumnExpr("members.username").
		Join("JOIN members ON members.id = ?TableAlias.member_id AND members.email = ?TableAlias.email").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.purpose = ?", purpose).Where("?TableAlias.expires_at > ?", s.Now()).
		Where("members.suspended_at IS NULL" + Writable + notDisputed).Scan(ctx)
	return db.Found(l, err, deadLink)
}

// useLink deletes a valid link and returns it. It locks the member first. Otherwise two concurrent
// calls for links of one member could deadlock, because each use deletes the member's other links.
func useLink(ctx context.Context, s *db.DB, tx db.Querier, hash string, purpose LinkPurpose) (*MailLink, error) {
	if lock := db.LockRows(tx, string(changeLock)); lock != "" {
		_, err := tx.NewRaw("SELECT id FROM members WHERE id = (SELECT member_id FROM mail_links WHERE hash = ?)"+lock, hash).Exec(ctx)
		if err != nil {
			return nil, err
		}
	}
	l := &MailLink{}
	err := tx.NewRaw(`DELETE FROM mail_links WHERE hash = ? AND purpose = ? AND expires_at > ?
AND EXISTS (SELECT 1 FROM members WHERE members.id = mail_links.member_id AND members.email = mail_links.email
AND members.suspended_at IS NULL`+Writable+notDisputed+`) RETURNING ?`, hash, purpose, s.Now(), db.Columns[MailLink](s)).Scan(ctx, l)
	return db.Found(l, err, deadLink)
}

// ResetPassword uses up a reset link: it replaces the password's hash and ends every
// login session, grant, personal token and linked identity of the member. It marks
// the address as verified.
func ResetPassword(ctx context.Context, s *db.DB, linkHash, passwordHash string) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeReset)
		if err != nil {
			return err
		}
		if err := replacePassword(ctx, s, tx, l.MemberID, passwordHash); err != nil {
			return err
		}
		return verify(ctx, s, tx, l)
	})
	return err
}

// VerifyEmail uses up a verification link.
func VerifyEmail(ctx context.Context, s *db.DB, linkHash string) error {
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeVerify)
		if err != nil {
			return err
		}
		return verify(ctx, s, tx, l)
	})
	return err
}

// ChangeEmail sets the member's e-mail address to the one to which the link was sent, marks it as
// verified, and deletes the link. It ends every login session except the one to keep, and every
// other mail link of the member; agents and tokens keep their access. It fails with
// fault.NotFound if the link has expired, was used, or belongs to another member. It fails with
// fault.Conflict if another member has the address; then the link remains. It starts a new epoch of
// access, and fails with ErrAccessEnded if the access was revoked.
func ChangeEmail(ctx context.Context, s *db.DB, a Access, keep, linkHash string) error {
	owner := a.Owner
	err := changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		l, err := useLink(ctx, s, tx, linkHash, PurposeChange)
		if err != nil {
			return err
		}
		if l.MemberID != owner {
			return fault.New(fault.NotFound, deadLink)
		}
		result, err := tx.NewRaw("UPDATE members SET email = ?, email_verified_at = ?, access_epoch = access_epoch + 1, updated_at = ? WHERE id = ? AND email = ?"+Writable,
			l.NewEmail, s.Now(), s.Now(), owner, l.Email).Exec(ctx)
		if err := db.MustMeet(result, err, deadLink); err != nil {
			return err
		}
		if err := recordAddress(ctx, s, tx, owner, l.Email); err != nil {
			return err
		}
		if _, err := tx.NewRaw("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.NewRaw("DELETE FROM mail_links WHERE member_id = ?", owner).Exec(ctx)
		return err
	})
	if db.IsTaken(err) {
		return fault.New(fault.Conflict, "another account has this e-mail address")
	}
	return err
}

// recordAddress stores that an address was the member's until now.
func recordAddress(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, email string) error {
	_, err := tx.NewRaw(`INSERT INTO member_addresses (member_id, email, ended_at) VALUES (?, ?, ?)
ON CONFLICT (member_id, email) DO UPDATE SET ended_at = excluded.ended_at`, owner, email, s.Now()).Exec(ctx)
	return err
}

func verify(ctx context.Context, s *db.DB, tx db.Querier, l *MailLink) error {
	result, err := tx.NewRaw(markVerified, s.Now(), s.Now(), l.MemberID, l.Email).Exec(ctx)
	return db.MustMeet(result, err, deadLink)
}

// CreateSignUp stores a sign-up for LinkLifetime.
func CreateSignUp(ctx context.Context, s *db.DB, row *SignUp) error {
	row.CreatedAt = s.Now()
	row.ExpiresAt = row.CreatedAt.Add(LinkLifetime)
	_, err := s.NewInsert().Model(row).Exec(ctx)
	return err
}

// GetSignUp returns an open sign-up, without using it up.
func GetSignUp(ctx context.Context, s *db.DB, hash string) (*SignUp, error) {
	row := &SignUp{}
	err := s.NewSelect().Model(row).Where("hash = ?", hash).Where("expires_at > ?", s.Now()).Scan(ctx)
	return db.Found(row, err, deadLink)
}

// CompleteSignUp creates the member, with a username and a password of their choice,
// and uses up every sign-up of the address. It fails with fault.AlreadyExists if the
// username is taken, and with fault.Conflict if the address belongs to a member; the
// sign-up then stays.
func CompleteSignUp(ctx context.Context, s *db.DB, hash, username, passwordHash string) (*Member, error) {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return nil, err
	}
	m := &Member{ID: tenant.ID(memberID), Username: username, PasswordHash: passwordHash, Plan: PlanFree, Timezone: "UTC", Locale: "en"}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		return completeSignUp(ctx, s, tx, hash, m)
	})
	if db.IsTaken(err) {
		return nil, fault.New(fault.AlreadyExists, "the username %q is taken; choose another", username)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func completeSignUp(ctx context.Context, s *db.DB, tx db.Querier, hash string, m *Member) error {
	err := tx.NewRaw("DELETE FROM sign_ups WHERE hash = ? AND expires_at > ? RETURNING email", hash, s.Now()).Scan(ctx, &m.Email)
	if _, err = db.Found(m, err, deadLink); err != nil {
		return err
	}
	var taken string
	err = tx.NewRaw("SELECT id FROM members WHERE email = ?", m.Email).Scan(ctx, &taken)
	if err == nil {
		return fault.New(fault.Conflict, "there is an account with this e-mail address already; sign in")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.NewRaw("DELETE FROM sign_ups WHERE email = ?", m.Email).Exec(ctx); err != nil {
		return err
	}
	now := s.Now()
	m.CreatedAt, m.UpdatedAt, m.EmailVerifiedAt = now, now, now
	return InsertMembers(ctx, tx, []Member{*m}, []Profile{newProfile(m)})
}

// newProfile returns the empty, private profile of a new member.
func newProfile(m *Member) Profile {
	return Profile{MemberID: m.ID, Name: m.Username, Username: m.Username, Visibility: Private, UpdatedAt: m.CreatedAt}
}

// NotMeLifetime is how long a NotMeLink works. RestoreWait is how long the present address of an account
// has time to object before a link restores a former one.
const (
	NotMeLifetime = 7 * 24 * time.Hour
	RestoreWait   = 8 * time.Hour
)

// notMeMargin is the maximum time between a security event and the creation of its link.
const notMeMargin = 10 * time.Minute

// NotMeLink is a link in an email about a security event, with which the member says "this was not
// me", and its row. Using it ends all access to the account, and gives none.
//
// It works once, unless it may restore an address. Then its first use only ends access: the present
// address is told, and can object. RestoreWait later, the second use restores the address. Until then
// no mailed link resets a password or changes the address (notDisputed).
type NotMeLink struct {
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	// Email is the address to which the link was sent, the member's at that time.
	Email string
	// ChangedAt is when the address was replaced, if the email told of that: the link may restore it.
	ChangedAt time.Time `bun:",nullzero"`
	CreatedAt time.Time
	ExpiresAt time.Time
	// RestoresAt is the earliest time at which a second use restores the address; zero before the first use.
	RestoresAt time.Time `bun:",nullzero"`
	// ObjectionHash is the hash of the secret with which the present address objects.
	ObjectionHash string `bun:",nullzero"`
	// ObjectedAt is when the present address objected. Then the link restores nothing, and the
	// people who run the service decide whose the account is.
	ObjectedAt time.Time `bun:",nullzero"`
	// Username and Present, the current address, are the member's; they are read with the link.
	Username string `bun:",scanonly"`
	Present  string `bun:",scanonly"`
	// Restores is set if Email becomes the member's address again.
	Restores bool `bun:",scanonly"`
}

// Waits reports whether the link was used, and restores an address later.
func (l *NotMeLink) Waits() bool { return !l.RestoresAt.IsZero() }

// liveNotMe is the condition for links that work. A disputed one has no end but the decision.
const liveNotMe = "(expires_at > ? OR objected_at IS NOT NULL)"

// notDisputed is the condition on members that no restoration of a former address waits: while two
// mailboxes claim an account, no mailed link gives it to either.
const notDisputed = " AND NOT EXISTS (SELECT 1 FROM not_me_links w WHERE w.member_id = members.id AND w.restores_at IS NOT NULL)"

// AddressIsDisputed reports whether the restoration of a former address of a member waits.
func AddressIsDisputed(ctx context.Context, s *db.DB, owner tenant.ID) (bool, error) {
	n, err := s.NewSelect().Model((*NotMeLink)(nil)).Where("member_id = ?", owner).Where("restores_at IS NOT NULL").Count(ctx)
	return n > 0, err
}

// CreateNotMeLink stores a link for an address, and returns its secret. The address is the member's, or
// the one that was replaced last: then the link tells of that change, and may restore the address. It
// fails with fault.NotFound for any other address, such as one that a link took back in the meantime.
func CreateNotMeLink(ctx context.Context, s *db.DB, owner tenant.ID, email string) (secret string, err error) {
	if secret, err = NewSecret(""); err != nil {
		return "", err
	}
	l := &NotMeLink{Hash: HashSecret(secret), MemberID: owner, Email: email, CreatedAt: s.Now(), ExpiresAt: s.Now().Add(NotMeLifetime)}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if _, err := lockMember(ctx, tx, owner, shareLock); err != nil {
			return err
		}
		var present bool
		if err := tx.NewRaw("SELECT email = ? FROM members WHERE id = ?", email, owner).Scan(ctx, &present); err != nil {
			return err
		}
		l.ChangedAt = time.Time{}
		if !present {
			err := tx.NewRaw(`SELECT ended_at FROM member_addresses WHERE member_id = ? AND email = ?
AND ended_at = (SELECT max(ended_at) FROM member_addresses WHERE member_id = ?)`, owner, email, owner).Scan(ctx, &l.ChangedAt)
			if _, err = db.Found(l, err, "the address is not the member's any more"); err != nil {
				return err
			}
		}
		_, err := tx.NewInsert().Model(l).Exec(ctx)
		return err
	})
	return secret, err
}

// GetNotMeLink returns a valid link, without using it up, or fault.NotFound.
func GetNotMeLink(ctx context.Context, s *db.DB, hash string) (*NotMeLink, error) {
	return findNotMeLink(ctx, s, "hash", hash)
}

// GetObjection returns the link to which the owner of a secret can object, without doing so, or
// fault.NotFound.
func GetObjection(ctx context.Context, s *db.DB, hash string) (*NotMeLink, error) {
	return findNotMeLink(ctx, s, "objection_hash", hash)
}

func findNotMeLink(ctx context.Context, s *db.DB, column, hash string) (*NotMeLink, error) {
	l := &NotMeLink{}
	err := s.NewSelect().Model(l).ColumnExpr("?TableColumns").ColumnExpr("members.username, members.email AS present").
		ColumnExpr("EXISTS (SELECT 1 FROM member_addresses a WHERE a.member_id = ?TableAlias.member_id AND a.email = ?TableAlias.email AND a.ended_at = ?TableAlias.changed_at) AS restores").
		Join("JOIN members ON members.id = ?TableAlias.member_id").
		Where("?TableAlias.? = ?", bun.Ident(column), hash).Where(liveNotMe, s.Now()).Scan(ctx)
	return db.Found(l, err, deadLink)
}

// EndedAccess says what UseNotMeLink did.
type EndedAccess struct {
	MemberID tenant.ID
	// Email is the address to which the link was sent, Present the member's before it was used.
	Email, Present string
	// Reset is set if Email is the member's address now, so that a link to choose a new password can
	// be sent there.
	Reset bool
	// Replaced is set if the account was taken back from the address Present.
	Replaced bool
	// Taken is set if Email was not restored because another member has it.
	Taken bool
	// RestoresAt is set if a former address waits to be restored, Disputed if the present one objected.
	RestoresAt time.Time
	Disputed   bool
	// Objection is the secret for the present address, if the link was used for the first time.
	Objection string
}

// UseNotMeLink ends all access like RevokeEverything, and removes the password and unconfirmed
// changes of the address.
//
// If the link went to the member's present address, or tells of the change that replaced its address,
// it also removes the second factors that were added since the event, because a thief's second factor
// would lock the member out. In the second case the address becomes the member's again
// when the link is used once more, RestoreWait later, if the present address has not objected. A link of
// before a change of the address ends access only, because the mailbox may be somebody else's by now; so
// does one to the present address while a restoration waits.
//
// The links that went to other addresses end. One that tells of an earlier change survives a link
// that does not: otherwise a thief who changed the address could end the owner's way back.
//
// It fails with fault.NotFound if the link is not valid.
func UseNotMeLink(ctx context.Context, s *db.DB, hash string) (*EndedAccess, error) {
	objection, err := NewSecret("")
	if err != nil {
		return nil, err
	}
	done := &EndedAccess{}
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		*done = EndedAccess{}
		l, err := lockNotMeLink(ctx, s, tx, "hash", hash)
		if err != nil {
			return err
		}
		done.MemberID, done.Email, done.Present = l.MemberID, l.Email, l.Present
		if err := replacePassword(ctx, s, tx, l.MemberID, ""); err != nil {
			return err
		}
		return takeBack(ctx, s, tx, l, done, objection)
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// lockNotMeLink locks the member of a link, and returns the link with the present address.
func lockNotMeLink(ctx context.Context, s *db.DB, tx db.Querier, column, hash string) (*NotMeLink, error) {
	var owner tenant.ID
	err := tx.NewRaw("SELECT member_id FROM not_me_links WHERE ? = ?", bun.Ident(column), hash).Scan(ctx, &owner)
	if _, err = db.Found(&owner, err, deadLink); err != nil {
		return nil, err
	}
	if _, err := lockMember(ctx, tx, owner, changeLock); err != nil {
		return nil, err
	}
	l := &NotMeLink{}
	err = tx.NewRaw("SELECT ?, (SELECT email FROM members WHERE id = member_id) AS present FROM not_me_links WHERE ? = ? AND "+liveNotMe,
		db.Columns[NotMeLink](s), bun.Ident(column), hash, s.Now()).Scan(ctx, l)
	return db.Found(l, err, deadLink)
}

// takeBack removes what was added since a link was sent, and restores its address or begins to, as far
// as the link may do that.
func takeBack(ctx context.Context, s *db.DB, tx db.Querier, l *NotMeLink, done *EndedAccess, objection string) error {
	var err error
	if l.Restores, err = mayRestore(ctx, tx, l); err != nil {
		return err
	}
	waits, err := waitingRestoration(ctx, s, tx, l.MemberID)
	if err != nil {
		return err
	}
	present := l.Email == l.Present
	mine := l.Restores || present && waits == nil || waits != nil && waits.Email == l.Email
	if !mine {
		return deleteNotMeLink(ctx, tx, l) // it ends access only
	}
	if err := deleteFactorsSince(ctx, tx, l.MemberID, l.CreatedAt.Add(-notMeMargin)); err != nil {
		return err
	}
	if err := deleteOtherLinks(ctx, tx, l); err != nil {
		return err
	}
	switch {
	case waits != nil && waits.Email == l.Email && waits.Hash != l.Hash: // another link restores this address
		done.RestoresAt, done.Disputed = waits.RestoresAt, !waits.ObjectedAt.IsZero()
		return deleteNotMeLink(ctx, tx, l)
	case present:
		return restored(ctx, s, tx, l, done)
	}
	if done.Taken, err = isTaken(ctx, tx, l); err != nil {
		return err
	}
	switch {
	case done.Taken:
		return deleteNotMeLink(ctx, tx, l)
	case !l.Waits():
		done.RestoresAt, done.Objection = s.Now().Add(RestoreWait), objection
		_, err = tx.NewRaw("UPDATE not_me_links SET restores_at = ?, expires_at = ?, objection_hash = ? WHERE hash = ?",
			done.RestoresAt, done.RestoresAt.Add(NotMeLifetime), HashSecret(objection), l.Hash).Exec(ctx)
		return err
	case !l.ObjectedAt.IsZero() || s.Now().Before(l.RestoresAt):
		done.RestoresAt, done.Disputed = l.RestoresAt, !l.ObjectedAt.IsZero()
		return nil
	}
	done.Replaced = true
	// The change is taken back, with those after it.
	if _, err := tx.NewRaw("DELETE FROM member_addresses WHERE member_id = ? AND ended_at >= ?", l.MemberID, l.ChangedAt).Exec(ctx); err != nil {
		return err
	}
	return restored(ctx, s, tx, l, done)
}

// restored uses up a link whose address is the member's now. The link was opened, so the address is
// verified.
func restored(ctx context.Context, s *db.DB, tx db.Querier, l *NotMeLink, done *EndedAccess) error {
	done.Reset = true
	_, err := tx.NewRaw("UPDATE members SET email = ?, email_verified_at = CASE WHEN email = ? THEN coalesce(email_verified_at, ?) ELSE ? END WHERE id = ?",
		l.Email, l.Email, s.Now(), s.Now(), l.MemberID).Exec(ctx)
	if err != nil {
		return err
	}
	return deleteNotMeLink(ctx, tx, l)
}

// waitingRestoration returns the used link that waits to restore an address of a member, of the
// earliest change; nil if there is none.
func waitingRestoration(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID) (*NotMeLink, error) {
	l := &NotMeLink{}
	err := tx.NewRaw("SELECT ? FROM not_me_links WHERE member_id = ? AND restores_at IS NOT NULL AND "+liveNotMe+" ORDER BY changed_at LIMIT 1",
		db.Columns[NotMeLink](s), owner, s.Now()).Scan(ctx, l)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return l, err
}

func deleteNotMeLink(ctx context.Context, tx db.Querier, l *NotMeLink) error {
	_, err := tx.NewRaw("DELETE FROM not_me_links WHERE hash = ?", l.Hash).Exec(ctx)
	return err
}

// deleteOtherLinks ends the links that went to other addresses, except those that tell of an earlier
// change than this one.
func deleteOtherLinks(ctx context.Context, tx db.Querier, l *NotMeLink) error {
	others, args := "changed_at IS NULL", []any{l.MemberID, l.Email}
	if l.Restores {
		others, args = "(changed_at IS NULL OR changed_at >= ?)", append(args, l.ChangedAt)
	}
	_, err := tx.NewRaw("DELETE FROM not_me_links WHERE member_id = ? AND email <> ? AND "+others, args...).Exec(ctx)
	return err
}

// ObjectToRestoration records that the present address of a member objects to restoring a former one. All access
// stays ended, and no mailed link resets the password, until an operator sets a password (ReplacePassword).
// It returns the link that was to restore the address. It fails with fault.NotFound if the secret is unknown or
// the address was restored already.
func ObjectToRestoration(ctx context.Context, s *db.DB, hash string) (*NotMeLink, error) {
	var l *NotMeLink
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) (err error) {
		if l, err = lockNotMeLink(ctx, s, tx, "objection_hash", hash); err != nil || !l.ObjectedAt.IsZero() {
			return err
		}
		l.ObjectedAt = s.Now()
		_, err = tx.NewRaw("UPDATE not_me_links SET objected_at = ? WHERE hash = ?", l.ObjectedAt, l.Hash).Exec(ctx)
		return err
	})
	return l, err
}

// mayRestore reports whether a link tells of the last change that replaced its address.
func mayRestore(ctx context.Context, tx db.Querier, l *NotMeLink) (bool, error) {
	if l.ChangedAt.IsZero() {
		return false, nil
	}
	var found int
	err := tx.NewRaw("SELECT 1 FROM member_addresses WHERE member_id = ? AND email = ? AND ended_at = ?", l.MemberID, l.Email, l.ChangedAt).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// isTaken reports whether another member has the address of a link.
func isTaken(ctx context.Context, tx db.Querier, l *NotMeLink) (bool, error) {
	var taken string
	err := tx.NewRaw("SELECT id FROM members WHERE email = ? AND id <> ?", l.Email, l.MemberID).Scan(ctx, &taken)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// OwnerLinkLifetime is how long an owner link works.
const OwnerLinkLifetime = 15 * time.Minute

// OwnerLink is a single-use link that creates the first member, and its row. The server prints it
// for the operator; only the hash of its secret is stored.
type OwnerLink struct {
	Hash      string `bun:",pk"`
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Owner is the first member, as typed.
type Owner struct {
	Username, Name, Email, Timezone string
	// PasswordHash is the hash of the password.
	PasswordHash string
}

// Check cleans the name and the time zone. It fails with fault.Invalid, naming each invalid field.
func (o *Owner) Check() error {
	c := checker{}
	o.Name = c.name(o.Name)
	o.Timezone = c.timezone(o.Timezone)
	return c.fault()
}

// noMember is the condition that there is no member except those of the sandbox.
const noMember = "NOT EXISTS (SELECT 1 FROM members JOIN tenant_states st ON st.tenant_id = members.id WHERE NOT st.read_only)"

// CreateOwnerLink stores a link for OwnerLinkLifetime and returns its secret. It fails with
// fault.Conflict if there is a member.
func CreateOwnerLink(ctx context.Context, s *db.DB) (secret string, err error) {
	if secret, err = NewSecret(""); err != nil {
		return "", err
	}
	return secret, updateOne(ctx, s, fault.New(fault.Conflict, "a member already exists"),
		"INSERT INTO owner_links (hash, created_at, expires_at) SELECT ?, ?, ? WHERE "+noMember,
		HashSecret(secret), s.Now(), s.Now().Add(OwnerLinkLifetime))
}

// CheckOwnerLink fails with fault.NotFound unless the link is valid and there is no member.
func CheckOwnerLink(ctx context.Context, s *db.DB, hash string) error {
	l := &OwnerLink{}
	err := s.NewSelect().Model(l).Where("hash = ?", hash).Where("expires_at > ?", s.Now()).Where(noMember).Scan(ctx)
	_, err = db.Found(l, err, deadLink)
	return err
}

// CreateOwner creates the first member of a server, with PlanPro, and deletes all owner links. It fails with fault.NotFound if the link is not valid or a member exists, and with fault.AlreadyExists if
// the sandbox has the username or the e-mail address; then the link can be used again.
func CreateOwner(ctx context.Context, s *db.DB, linkHash string, o Owner) (*Member, error) {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return nil, err
	}
	m := &Member{
		ID: tenant.ID(memberID), Username: o.Username, Email: o.Email, PasswordHash: o.PasswordHash, Plan: PlanPro, Timezone: o.Timezone, Locale: "en",
		CreatedAt: s.Now(), UpdatedAt: s.Now(),
	}
	profile := newProfile(m)
	profile.Name = o.Name
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := useOwnerLinks(ctx, s, tx, linkHash); err != nil {
			return err
		}
		return InsertMembers(ctx, tx, []Member{*m}, []Profile{profile})
	})
	if db.IsTaken(err) {
		err = fault.New(fault.AlreadyExists, "this username or e-mail address is taken")
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// useOwnerLinks deletes all links. A second concurrent call waits until the first transaction has
// ended and then finds no link, even if it uses another one.
func useOwnerLinks(ctx context.Context, s *db.DB, tx db.Querier, hash string) error {
	var links []OwnerLink
	if err := tx.NewRaw("DELETE FROM owner_links RETURNING ?", db.Columns[OwnerLink](tx)).Scan(ctx, &links); err != nil {
		return err
	}
	for _, l := range links {
		if l.Hash != hash || !l.ExpiresAt.After(s.Now()) {
			continue
		}
		var free bool
		if err := tx.NewRaw("SELECT "+noMember).Scan(ctx, &free); err != nil {
			return err
		}
		if free {
			return nil
		}
	}
	return fault.New(fault.NotFound, deadLink)
}

// HideSteps hides the first steps on the member's Today for good. It fails with fault.NotFound if
// there is no such member who may write.
func HideSteps(ctx context.Context, s *db.DB, owner tenant.ID) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no such member"),
		"UPDATE members SET steps_hidden_at = coalesce(steps_hidden_at, ?) WHERE id = ?"+Writable, s.Now(), owner)
}
