package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// DeviceLoginLifetime is how long a program waits for a member to allow it.
const DeviceLoginLifetime = 20 * time.Minute

// How many programs may wait: from one network, and in all.
const (
	maxLoginsOfNetwork = 20
	maxLogins          = 10_000
)

// The page on which a member allows a program or refuses it, and its parameter.
const (
	PathDeviceLogin  = "/settings/devices/login"
	FieldDeviceLogin = "request"
)

// maxProgram limits what a program calls itself, in characters.
const maxProgram = 200

// noDeviceLogin is the text of fault.NotFound.
const noDeviceLogin = "the request of the device has ended"

// RevokeUnusedDevices revokes the devices that a member allowed and whose program did not fetch its app password in time. It has two parameters, both the present time.
const RevokeUnusedDevices = `UPDATE personal_tokens SET revoked_at = ? WHERE revoked_at IS NULL
AND id IN (SELECT device_id FROM device_logins WHERE expires_at <= ?)`

// DeviceLogin is a program that asked to be a device, by the login flow of Nextcloud (version 2), and its row. The program has a secret with
// which it asks for its app password, and opens a page in a browser that has another one. There a member allows it: then the
// device exists, with an app password that nobody knows. When the program asks next it gets a new one, once.
type DeviceLogin struct {
	Hash, PageHash string
	// Program is what the program calls itself: anybody can claim any name.
	Program string
	// Network is where it asked from, as CoarseAddress writes it.
	Network  string
	DeviceID string `bun:",nullzero"`
	// CreatedAt is when it asked.
	CreatedAt, ExpiresAt time.Time
}

// BeginDeviceLogin records that a program asks to be a device. It returns the program's secret and that of the page. It fails with fault.Exhausted
// if too many programs wait.
func BeginDeviceLogin(ctx context.Context, s *db.DB, program, network string) (secret, page string, err error) {
	if secret, err = NewSecret(""); err != nil {
		return "", "", err
	}
	if page, err = NewSecret(""); err != nil {
		return "", "", err
	}
	now := s.Now()
	row := &DeviceLogin{
		Hash: HashSecret(secret), PageHash: HashSecret(page), Program: text.Truncate(text.Line(program), maxProgram), Network: network,
		CreatedAt: now, ExpiresAt: now.Add(DeviceLoginLifetime),
	}
	return secret, page, s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if _, err := tx.NewRaw("DELETE FROM device_logins WHERE expires_at <= ? AND device_id IS NULL", now).Exec(ctx); err != nil {
			return err
		}
		var all, near int
		err := tx.NewRaw("SELECT count(*), coalesce(sum(CASE WHEN network = ? THEN 1 ELSE 0 END), 0) FROM device_logins", network).Scan(ctx, &all, &near)
		if err != nil {
			return err
		}
		if all >= maxLogins || near >= maxLoginsOfNetwork {
			return fault.New(fault.Exhausted, "too many devices wait to be allowed: try again in %d minutes", int(DeviceLoginLifetime.Minutes()))
		}
		_, err = tx.NewInsert().Model(row).Exec(ctx)
		return err
	})
}

// GetDeviceLogin returns the request of a program that waits for an answer, by the secret of the page on which it is given. It fails with fault.NotFound if there is none: it was allowed or
// refused, or the time is over.
func GetDeviceLogin(ctx context.Context, s *db.DB, page string) (*DeviceLogin, error) {
	row := &DeviceLogin{}
	err := s.NewSelect().Model(row).Where("page_hash = ? AND device_id IS NULL AND expires_at > ?", HashSecret(page), s.Now()).Scan(ctx)
	return db.Found(row, err, noDeviceLogin)
}

// AllowDeviceLogin makes a device of the program that waits. Its errors are those of GetDeviceLogin and CreatePersonalToken.
func AllowDeviceLogin(ctx context.Context, s *db.DB, page string, device *PersonalToken) error {
	return createToken(ctx, s, device, func(ctx context.Context, tx db.Querier) error {
		result, err := tx.NewRaw("UPDATE device_logins SET device_id = ? WHERE page_hash = ? AND device_id IS NULL AND expires_at > ?",
			device.ID, HashSecret(page), s.Now()).Exec(ctx)
		return db.MustMeet(result, err, noDeviceLogin)
	})
}

// RefuseDeviceLogin ends the request of the program that waits; it fails with fault.NotFound if there is none.
func RefuseDeviceLogin(ctx context.Context, s *db.DB, page string) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, noDeviceLogin),
		"DELETE FROM device_logins WHERE page_hash = ? AND device_id IS NULL AND expires_at > ?", HashSecret(page), s.Now())
}

// FinishDeviceLogin gives the device of a program, which a member has allowed, a new app password, and ends the request: of several calls one
// gets the password. It fails with fault.NotFound for any other program, if the device was removed or its member suspended.
func FinishDeviceLogin(ctx context.Context, s *db.DB, secret string) (username, password string, err error) {
	hash := HashSecret(secret)
	var m Member
	err = s.NewRaw(`SELECT m.id, m.username FROM device_logins l JOIN personal_tokens t ON t.id = l.device_id
JOIN members m ON m.id = t.member_id AND m.suspended_at IS NULL WHERE l.hash = ? AND l.expires_at > ?`, hash, s.Now()).Scan(ctx, &m.ID, &m.Username)
	if _, err = db.Found(&m, err, noDeviceLogin); err != nil {
		return "", "", err
	}
	password = GenerateAppPassword()
	return m.Username, password, s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if _, err := lockMember(ctx, tx, m.ID, shareLock); err != nil {
			return err
		}
		var deviceID string
		err := tx.NewRaw("DELETE FROM device_logins WHERE hash = ? AND device_id IS NOT NULL AND expires_at > ? RETURNING device_id", hash, s.Now()).Scan(ctx, &deviceID)
		if _, err = db.Found(&deviceID, err, noDeviceLogin); err != nil {
			return err
		}
		result, err := tx.NewRaw("UPDATE personal_tokens SET hash = ? WHERE id = ? AND revoked_at IS NULL", HashAppPassword(password), deviceID).Exec(ctx)
		return db.MustMeet(result, err, noDeviceLogin)
	})
}
