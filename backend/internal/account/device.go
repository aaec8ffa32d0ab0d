package account

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// KindDevice is the kind of personal tokens that are the app password of a device, such as a phone, and the tenant.Credential kind
// of such devices. An app password is no bearer token: it calls no tool.
const KindDevice = "device"

// ScopeContacts is the scope of every device: it synchronises people, and reads the calendar feeds. One that changes people has catalog.ScopeWrite
// too.
const ScopeContacts = "contacts"

// passwordLetters are the 32 characters of app passwords: none is taken for another one.
const passwordLetters = "abcdefghijkmnpqrstuvwxyz23456789"

// GenerateAppPassword returns a new app password, which people may have to type: six groups of four letters and digits with 120
// random bits in all.
func GenerateAppPassword() string {
	const groups, size = 6, 4
	random := make([]byte, groups*size)
	_, _ = rand.Read(random) // never fails
	var b strings.Builder
	for i, r := range random {
		if i > 0 && i%size == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(passwordLetters[int(r)%len(passwordLetters)])
	}
	return b.String()
}

// HashAppPassword returns the stored form of an app password. Capital letters, spaces and hyphens make no difference.
func HashAppPassword(password string) string {
	return HashSecret(KindDevice + " " + strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(password)))
}

// NewDevice returns a device of the member that reads people and, unless readOnly, changes them, with its app password.
func NewDevice(access Access, name string, readOnly bool) (device *PersonalToken, password string) {
	scopes := []string{ScopeContacts}
	if !readOnly {
		scopes = append(scopes, catalog.ScopeWrite)
	}
	password = GenerateAppPassword()
	return &PersonalToken{
		MemberID: access.Owner, Name: name, Kind: KindDevice, Hash: HashAppPassword(password), Scopes: strings.Join(scopes, " "), Access: access,
	}, password
}

// ReadOnly reports whether a device only reads.
func (t *PersonalToken) ReadOnly() bool { return t.Scopes == ScopeContacts }

// ListDevices returns a member's devices, newest first, without those that were removed.
func ListDevices(ctx context.Context, s *db.DB, owner tenant.ID) ([]PersonalToken, error) {
	return listKind(ctx, s, owner, KindDevice)
}

// RemoveDevice ends the access of a device of the member; it fails with fault.NotFound if the member has no such device.
func RemoveDevice(ctx context.Context, s *db.DB, owner tenant.ID, deviceID string) error {
	return revokeKind(ctx, s, owner, KindDevice, deviceID, fault.New(fault.NotFound, "there is no device %q", deviceID))
}

// listKind returns a member's tokens of a kind, newest first, without revoked ones.
func listKind(ctx context.Context, s *db.DB, owner tenant.ID, kind string) ([]PersonalToken, error) {
	var tokens []PersonalToken
	err := s.NewSelect().Model(&tokens).Where("member_id = ? AND kind = ? AND revoked_at IS NULL", owner, kind).Order("id DESC").Scan(ctx)
	return tokens, err
}

// revokeKind revokes a token of the member that has a kind; it fails with missing if there is no such live token.
func revokeKind(ctx context.Context, s *db.DB, owner tenant.ID, kind, tokenID string, missing *fault.Error) error {
	return updateOne(ctx, s, missing,
		"UPDATE personal_tokens SET revoked_at = ? WHERE id = ? AND member_id = ? AND kind = ? AND revoked_at IS NULL", s.Now(), tokenID, owner, kind)
}
