package account

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/text/language"
)

// Names of the settings, as tools and forms spell them.
const (
	FieldTimezone = "timezone"
	FieldLocale   = "locale"
)

// MaxLocale is the longest locale, in bytes (RFC 5646, section 4.4.1).
const MaxLocale = 35

// Settings are a member's time zone and locale. history records them as kind Settings, with the
// settings that a change touched; the id is the member's.
type Settings struct {
	// Timezone is a name of civil.ZoneNames.
	Timezone string `json:"timezone,omitempty"`
	// Locale is a canonical BCP 47 tag, such as de-DE.
	Locale string `json:"locale,omitempty"`
}

// SettingsPatch are the settings to change; nil changes nothing.
type SettingsPatch struct{ Timezone, Locale *string }

// UpdateSettings changes the member's settings. It returns the new settings and the id of the
// change, which is empty if nothing changed. It fails with fault.Invalid, naming each setting that
// breaks a rule.
func UpdateSettings(ctx context.Context, tx *db.Tx, patch SettingsPatch) (Settings, string, error) {
	present, err := GetSettings(ctx, tx)
	if err != nil {
		return Settings{}, "", err
	}
	wanted, err := patch.apply(present)
	if err != nil || wanted == present {
		return present, "", err
	}
	if err := setSettings(ctx, tx, wanted); err != nil {
		return Settings{}, "", err
	}
	before, after, done := Settings{}, Settings{}, []string{}
	if wanted.Timezone != present.Timezone {
		before.Timezone, after.Timezone = present.Timezone, wanted.Timezone
		done = append(done, "the time zone to "+wanted.Timezone)
	}
	if wanted.Locale != present.Locale {
		before.Locale, after.Locale = present.Locale, wanted.Locale
		done = append(done, "the locale to "+wanted.Locale)
	}
	changeID, err := history.Record(ctx, tx,
		history.One("Set "+strings.Join(done, " and "), history.Settings, string(tx.TenantID()), before, after))
	return wanted, changeID, err
}

// SaveSettings is UpdateSettings in a transaction of its own.
func SaveSettings(ctx context.Context, t *db.Tenant, actor db.Actor, patch SettingsPatch) (now Settings, err error) {
	err = t.Write(ctx, actor, func(ctx context.Context, tx *db.Tx) error {
		now, _, err = UpdateSettings(ctx, tx, patch)
		return err
	})
	return now, err
}

// apply returns the settings with those of the patch, in their canonical form.
func (p SettingsPatch) apply(s Settings) (Settings, error) {
	c := checker{}
	if p.Timezone != nil {
		s.Timezone = c.timezone(*p.Timezone)
	}
	if p.Locale != nil {
		s.Locale = c.locale(*p.Locale)
	}
	return s, c.fault()
}

func (c *checker) timezone(typed string) string {
	typed = strings.ReplaceAll(text.Line(typed), " ", "_")
	if name, ok := civil.FindZone(typed); ok {
		return name
	}
	if typed == "" {
		c.refuse(FieldTimezone, "give a time zone by its IANA name, such as Europe/Berlin")
	} else {
		c.refuse(FieldTimezone, "there is no time zone %q: give an IANA name, such as Europe/Berlin%s",
			text.Truncate(typed, MaxEntry), text.Nearest(context.Background(), civil.ZoneNames(), text.Truncate(typed, MaxEntry)))
	}
	return ""
}

func (c *checker) locale(typed string) string {
	typed = text.Line(typed)
	tag, err := language.Parse(typed)
	if _, known := tag.Base(); err != nil || known != language.Exact || len(tag.String()) > MaxLocale {
		c.refuse(FieldLocale, "%q is no locale: give a language, and a country if it matters, such as de-DE or pt-BR", text.Truncate(typed, MaxEntry))
		return ""
	}
	return tag.String()
}

// GetSettings returns the member's settings. It fails with fault.NotFound if the member
// does not exist any more.
func GetSettings(ctx context.Context, r db.Reader) (s Settings, err error) {
	err = r.NewRaw("SELECT timezone, locale FROM members WHERE id = ?", r.TenantID()).Scan(ctx, &s.Timezone, &s.Locale)
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.New(fault.NotFound, "there is no such member")
	}
	return s, err
}

// DigestLease is how long a worker of package digest may take for one digest. Nothing else makes it due in that time.
const DigestLease = 10 * time.Minute

// setSettings stores the settings. A worker then looks soon at the member's digest: in another time zone it may be due
// earlier.
func setSettings(ctx context.Context, tx *db.Tx, s Settings) error {
	_, err := tx.NewRaw("UPDATE members SET timezone = ?, locale = ?, updated_at = ? WHERE id = ?",
		s.Timezone, s.Locale, tx.Now(), tx.TenantID()).Exec(ctx)
	if err != nil {
		return err
	}
	soon := tx.Now().Add(DigestLease)
	_, err = tx.NewRaw("UPDATE digests SET next_at = ? WHERE tenant_id = ? AND next_at > ?", soon, tx.TenantID(), soon).Exec(ctx)
	return err
}

// RestoreSettings returns the restorer of a member's settings, which are never removed.
func RestoreSettings(tx *db.Tx) history.Restorer {
	return history.Single{
		Get: func(ctx context.Context, _ string) (any, error) { return GetSettings(ctx, tx) },
		Put: func(ctx context.Context, _ string, to json.RawMessage) error {
			var s Settings
			if err := json.Unmarshal(to, &s); err != nil {
				return fmt.Errorf("read recorded settings: %w", err)
			}
			return setSettings(ctx, tx, s)
		},
	}
}
