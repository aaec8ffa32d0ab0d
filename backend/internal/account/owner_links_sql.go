package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

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

// CreateOwner creates the first member and deletes all owner links, including this one. It fails
// with fault.NotFound if the link is not valid or a member exists, and with fault.AlreadyExists if
// the sandbox has the username or the e-mail address; then the link can be used again.
func CreateOwner(ctx context.Context, s *db.DB, linkHash string, o Owner) (*Member, error) {
	memberID, err := s.NewID(id.Member)
	if err != nil {
		return nil, err
	}
	m := &Member{
		ID: tenant.ID(memberID), Username: o.Username, Email: o.Email, PasswordHash: o.PasswordHash, Plan: PlanFree, Timezone: o.Timezone, Locale: "en",
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
