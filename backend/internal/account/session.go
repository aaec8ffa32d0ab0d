package account

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// FreshFor is how long an authentication counts as fresh. After that, sensitive actions ask the
// member to authenticate again.
const FreshFor = 10 * time.Minute

// Fresh reports whether the member authenticated within the last FreshFor.
func (l *LoginSession) Fresh(now time.Time) bool { return now.Sub(l.AuthenticatedAt) <= FreshFor }

// LoginSession is the session of a signed-in browser, and its row.
type LoginSession struct {
	// Hash is the hash of the secret in the cookie. It changes when the secret is rotated.
	Hash string `bun:",pk"`
	// ID names the session on pages and in events; it gives no access.
	ID       string
	MemberID tenant.ID
	// Device is the browser and the system in words, from DeviceOf. Address is the network in
	// which the session began, from CoarseAddress.
	Device, Address string
	CreatedAt       time.Time
	// AuthenticatedAt is when the member last authenticated in this browser, with all factors
	// that the account requires.
	AuthenticatedAt time.Time
	// LastUsedAt is a few minutes late: it is written in batches.
	LastUsedAt time.Time
	ExpiresAt  time.Time
	// SeenEvent is the id of the last security event whose notice was dismissed in this browser.
	SeenEvent int64
	// Username, Name, Email, Timezone, Locale and Plan are the member's; they are read with the
	// session.
	Username string `bun:",scanonly"`
	Name     string `bun:",scanonly"`
	Email    string `bun:",scanonly"`
	Timezone string `bun:",scanonly"`
	Locale   string `bun:",scanonly"`
	Plan     string `bun:",scanonly"`
	// AccessEpoch is the member's, of which Access tells: it is read with the session, and must still be
	// the present one when the session is stored.
	AccessEpoch int64 `bun:",scanonly"`
	// SecondFactor is set if the member has one.
	SecondFactor bool `bun:",scanonly"`
}

const sessionEnded = "the login session has ended"

// CreateLoginSession inserts the session of a member who has just signed in, and sets its id. It fails
// with ErrAccessEnded if access was revoked since the epoch of the row.
func CreateLoginSession(ctx context.Context, s *db.DB, row *LoginSession) error {
	return StoreCredential(ctx, s, Access{Owner: row.MemberID, Epoch: row.AccessEpoch}, func(ctx context.Context, tx db.Querier) error {
		return insertLoginSession(ctx, s, tx, row)
	})
}

// insertLoginSession inserts a session in a transaction of StoreCredential.
func insertLoginSession(ctx context.Context, s *db.DB, tx db.Querier, row *LoginSession) error {
	if err := begin(s, row); err != nil {
		return err
	}
	_, err := tx.NewInsert().Model(row).Exec(ctx)
	return err
}

// begin sets the id and the times of a new session.
func begin(s *db.DB, row *LoginSession) error {
	sessionID, err := s.NewID(id.Session)
	now := s.Now()
	row.ID, row.CreatedAt, row.AuthenticatedAt, row.LastUsedAt = sessionID, now, now, now
	return err
}

// RotateLoginSession replaces the secret of a live session, and ends its requests for consent,
// which belong to the old secret. It sets AuthenticatedAt unless the given time is zero. It fails
// with fault.NotFound if the session has ended.
func RotateLoginSession(ctx context.Context, s *db.DB, oldHash, newHash string, authenticatedAt time.Time) error {
	set, args := "hash = ?", []any{newHash}
	if !authenticatedAt.IsZero() {
		set, args = set+", authenticated_at = ?", append(args, authenticatedAt)
	}
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		// The first statement locks the session, as a new request for consent does.
		for _, statement := range []string{
			"UPDATE login_sessions SET expires_at = expires_at WHERE hash = ?",
			"DELETE FROM authorization_requests WHERE session_hash = ?",
		} {
			if _, err := tx.NewRaw(statement, oldHash).Exec(ctx); err != nil {
				return err
			}
		}
		result, err := tx.NewRaw("UPDATE login_sessions SET "+set+" WHERE hash = ? AND expires_at > ?", append(args, oldHash, s.Now())...).Exec(ctx)
		return db.MustMeet(result, err, sessionEnded)
	})
	return err
}

// GetLoginSession returns a live session of a member who may sign in, or
// fault.NotFound.
func GetLoginSession(ctx context.Context, s *db.DB, hash string) (*LoginSession, error) {
	row := &LoginSession{}
	err := s.NewSelect().Model(row).ColumnExpr("?TableColumns").ColumnExpr("m.username, p.name, m.email, m.timezone, m.locale, m.plan, m.access_epoch").ColumnExpr("f.member_id IS NOT NULL OR k.id IS NOT NULL AS second_factor").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Join("JOIN profiles AS p ON p.member_id = m.id").
		Join("LEFT JOIN totp_secrets AS f ON f.member_id = m.id").
		Join("LEFT JOIN passkeys AS k ON k.id = (SELECT min(id) FROM passkeys WHERE member_id = m.id)").
		Join("JOIN tenant_states AS st ON st.tenant_id = m.id AND NOT st.read_only").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.expires_at > ?", s.Now()).Where("m.suspended_at IS NULL").Scan(ctx)
	return db.Found(row, err, sessionEnded)
}

// DeleteLoginSession ends a session; it is no error if the session does not exist.
func DeleteLoginSession(ctx context.Context, s *db.DB, hash string) error {
	_, err := s.NewWrite("DELETE FROM login_sessions WHERE hash = ?", hash).Exec(ctx)
	return err
}

// DeleteLoginSessions ends all sessions of a member except the one to keep, and the sign-ins that
// wait for the second factor.
func DeleteLoginSessions(ctx context.Context, s *db.DB, owner tenant.ID, keep string) error {
	return RevokeAccess(ctx, s, owner, func(ctx context.Context, tx db.Querier) error {
		if _, err := tx.NewRaw("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewRaw(deleteSteps, owner).Exec(ctx)
		return err
	})
}

// ListLoginSessions returns the live sessions of a member that were used after a time, the
// last used first.
func ListLoginSessions(ctx context.Context, s *db.DB, owner tenant.ID, usedAfter time.Time) ([]LoginSession, error) {
	var sessions []LoginSession
	err := s.NewSelect().Model(&sessions).Where("member_id = ?", owner).Where("expires_at > ?", s.Now()).Where("last_used_at > ?", usedAfter).
		Order("last_used_at DESC", "id DESC").Scan(ctx)
	return sessions, err
}

// EndLoginSession ends one of the member's sessions, with its requests for consent. It fails with
// fault.NotFound if the member has no such session.
func EndLoginSession(ctx context.Context, s *db.DB, owner tenant.ID, sessionID string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		// What the session stores at this moment waits, and then finds that it has ended.
		if _, err := lockMember(ctx, tx, owner, changeLock); err != nil {
			return err
		}
		result, err := tx.NewRaw("DELETE FROM login_sessions WHERE id = ? AND member_id = ?", sessionID, owner).Exec(ctx)
		return db.MustMeet(result, err, "there is no such session")
	})
}

// MarkSessionUsed records when a session was last used. It never sets an earlier time.
func MarkSessionUsed(ctx context.Context, s *db.DB, sessionID string, at time.Time) error {
	_, err := s.NewWrite("UPDATE login_sessions SET last_used_at = ? WHERE id = ? AND last_used_at < ?", at, sessionID, at).Exec(ctx)
	return err
}

// MarkEventsSeen records that the notices of the events up to an id were dismissed in a session.
func MarkEventsSeen(ctx context.Context, s *db.DB, sessionID string, eventID int64) error {
	_, err := s.NewWrite("UPDATE login_sessions SET seen_event = ? WHERE id = ? AND seen_event < ?", eventID, sessionID, eventID).Exec(ctx)
	return err
}

// DeviceOf returns the browser and the system of a User-Agent header, such as "Firefox on Linux".
// The words are from a closed set, whatever the header contains.
func DeviceOf(userAgent string) string {
	const maxHeader = 512
	userAgent = userAgent[:min(len(userAgent), maxHeader)]
	// Most browsers also name others that they are compatible with, so the first match counts.
	browser := firstOf(userAgent, [][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Vivaldi/", "Vivaldi"}, {"FxiOS/", "Firefox"},
		{"Firefox/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	})
	system := firstOf(userAgent, [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"}, {"Linux", "Linux"},
	})
	switch {
	case browser == "" && system == "":
		return "an unknown browser"
	case browser == "":
		return "an unknown browser on " + system
	case system == "":
		return browser
	}
	return browser + " on " + system
}

// firstOf returns the name of the first mark that the text contains; empty if it contains none.
func firstOf(text string, marks [][2]string) string {
	for _, mark := range marks {
		if strings.Contains(text, mark[0]) {
			return mark[1]
		}
	}
	return ""
}

// CoarseAddress returns the network of a client: the /24 of an IPv4 address, the /48 of an IPv6
// one. Addresses that members can read are stored in this form. It takes an address, or a network
// from AddressBucket; for anything else it returns "".
func CoarseAddress(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		network, err := netip.ParsePrefix(address)
		if err != nil {
			return ""
		}
		ip = network.Addr()
	}
	const bits4, bits6 = 24, 48
	ip = ip.Unmap().WithZone("")
	bits := bits6
	if ip.Is4() {
		bits = bits4
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return network.String()
}
