package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/sandbox"
)

const updateSettings = "/kith.account.v1.AccountService/UpdateMySettings"

// told returns the member's settings as get_account shows them.
func (b *bundle) told(t *testing.T) string {
	t.Helper()
	got := b.call(t, getAccount, `{}`)
	return fmt.Sprint(got.at("member", "timezone"), " ", got.at("member", "locale"), " ", got.at("member", "today"))
}

// A new time zone applies from the next call on, in every process. The change is recorded and can be
// undone. Saving settings that are the same already records nothing.
func TestUpdateMySettings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 15, 30, 0, 0, time.UTC)
	inZone(t, "UTC", now, func(t *testing.T, b *bundle) {
		other := dbtest.Member(t, b.store, "other")
		elsewhere := serve(t, b.store, func() time.Time { return now }) // another process
		elsewhere.bearer = b.bearer
		person := b.made(t, `{"name":"Ana"}`)
		if got := elsewhere.told(t); got != "UTC en 2026-11-23" {
			t.Fatalf("at first: %s", got)
		}
		got := b.call(t, updateSettings, `{"timezone":"asia/tokyo"}`)
		changeID, _ := got.at("change_id").(string)
		if got.at("timezone") != "Asia/Tokyo" || got.at("locale") != "en" || got.at("today") != "2026-11-24" || changeID == "" {
			t.Fatalf("set: %v", got.body)
		}
		for where, process := range map[string]*bundle{"here": b, "in another process": elsewhere} {
			if got := process.told(t); got != "Asia/Tokyo en 2026-11-24" {
				t.Errorf("%s: %s", where, got)
			}
			if got := process.call(t, createReminder, `{"text":"x","due_on":"2026-11-23"}`); !strings.Contains(got.message(), "today is 2026-11-24") {
				t.Errorf("%s, yesterday: %v", where, got.body)
			}
		}
		if got := elsewhere.call(t, logCall, `{"connection_ids":["`+person+`"],"kind":"call","occurred_at":"2026-11-23"}`); got.at("interaction", "on") != "2026-11-23" {
			t.Errorf("noon in Tokyo: %v", got.body)
		}
		for _, body := range []string{`{"timezone":"Asia/Tokyo"}`, `{"timezone":" Asia/Tokyo ","locale":"EN"}`} {
			if again := b.call(t, updateSettings, body); again.code() != "" || again.at("change_id") != nil || again.at("today") != "2026-11-24" {
				t.Errorf("nothing new: %v", again.body)
			}
		}
		if got := b.call(t, updateSettings, `{"locale":"de_de"}`); got.at("locale") != "de-DE" || got.at("timezone") != "Asia/Tokyo" {
			t.Errorf("locale: %v", got.body)
		}
		listed := b.call(t, listChanges, `{"tool":"update_my_settings","limit":2}`)
		if listed.at("changes", 0, "summary") != "Set the locale to de-DE" || listed.at("changes", 1, "id") != changeID {
			t.Errorf("listed: %v", listed.body)
		}
		whole := b.call(t, listChanges, fmt.Sprintf(`{"change_id":%q}`, listed.at("changes", 0, "id")))
		if fmt.Sprint(whole.at("changes", 0, "objects", 0, "fields")) != "[locale]" || whole.at("changes", 0, "objects", 0, "kind") != "settings" {
			t.Errorf("listed alone: %v", whole.body)
		}
		// The locale was set since, which is no conflict: the change was about the zone.
		undone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, changeID))
		if told := elsewhere.told(t); undone.at("restored_count") != 1.0 || told != "UTC de-DE 2026-11-23" {
			t.Errorf("undone: %v: %s", undone.body, told)
		}
		redone := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, undone.at("change_id")))
		if told := b.told(t); redone.at("restored_count") != 1.0 || told != "Asia/Tokyo de-DE 2026-11-24" {
			t.Errorf("redone: %v: %s", redone.body, told)
		}
		if theirs, err := account.GetSettings(t.Context(), b.store.Tenant(other, true)); err != nil || theirs != (account.Settings{Timezone: "UTC", Locale: "en"}) {
			t.Errorf("the other's: %+v, %v", theirs, err)
		}
	})
}

// An undo does not overwrite what was set since.
func TestUndoOfSettingsThatChangedSince(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		first := b.call(t, updateSettings, `{"timezone":"Asia/Tokyo","locale":"ja"}`)
		b.call(t, updateSettings, `{"timezone":"Europe/Berlin"}`)
		got := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, first.at("change_id")))
		if got.at("change_id") != nil || got.at("conflicts", 0, "kind") != "settings" || got.at("conflicts", 0, "reason") != "it was changed since: timezone" {
			t.Errorf("undone: %v", got.body)
		}
		if told := b.told(t); !strings.HasPrefix(told, "Europe/Berlin ja ") {
			t.Errorf("told: %s", told)
		}
	})
}

func TestUpdateMySettingsRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for body, want := range map[string]string{
			`{}`:                                             "give timezone, locale, or both",
			`{"timezone":""}`:                                "timezone: give a time zone by its IANA name, such as Europe/Berlin",
			`{"timezone":"Berlin"}`:                          `timezone: there is no time zone "Berlin": give an IANA name, such as Europe/Berlin; nearest: "Europe/Berlin"`,
			`{"timezone":"new york"}`:                        `nearest: "America/New_York"`,
			`{"timezone":"Europe/Berln"}`:                    `nearest: "Europe/Berlin"`,
			`{"timezone":"Local"}`:                           `there is no time zone "Local"`,
			`{"timezone":"/etc/localtime"}`:                  `there is no time zone "/etc/localtime"`,
			`{"timezone":"../UTC"}`:                          `there is no time zone "../UTC"`,
			`{"timezone":"+02:00"}`:                          "such as Europe/Berlin",
			`{"timezone":"` + strings.Repeat("x", 64) + `"}`: "such as Europe/Berlin",
			`{"timezone":"` + strings.Repeat("x", 65) + `"}`: "timezone",
			`{"locale":""}`:                                  `locale: "" is no locale`,
			`{"locale":"German"}`:                            `locale: "German" is no locale: give a language, and a country if it matters, such as de-DE or pt-BR`,
			`{"locale":"und"}`:                               `"und" is no locale`,
			`{"locale":"xx-DE"}`:                             `"xx-DE" is no locale`,
			`{"locale":"x-private"}`:                         `"x-private" is no locale`,
			`{"locale":"de-DE-"}`:                            "is no locale",
			`{"locale":"*"}`:                                 "is no locale",
			`{"timezone":"Mars","locale":"Martian"}`:         `there is no time zone "Mars"`,
			`{"time_zone":"UTC"}`:                            `timezone`,
		} {
			got := b.call(t, updateSettings, body)
			if got.code() != "invalid_argument" || !strings.Contains(got.message(), want) || len(got.message()) > 300 {
				t.Errorf("%s: %v", body, got.body)
			}
		}
		for name, scopes := range map[string][]string{"a token that may not write": {"account"}, "one of another scope": {"connections", "write"}} {
			token := dbtest.Token(t, b.store, b.member, scopes...)
			if got := b.call(t, updateSettings, `{"timezone":"Asia/Tokyo"}`, "Authorization", "Bearer "+token); got.code() != "permission_denied" {
				t.Errorf("%s: %v", name, got.body)
			}
		}
		if told := b.told(t); !strings.HasPrefix(told, "UTC en ") {
			t.Errorf("told: %s", told)
		}
	})
}

// The settings of the demo account can't be changed, not even by a caller that opens the account
// without the read-only flag.
func TestDemoSettingsAreReadOnly(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, set *sandbox.Dataset) {
		demo := tenant.ID(set.Members[0].ID)
		before, err := account.GetSettings(t.Context(), b.store.Tenant(demo, true))
		if err != nil {
			t.Fatal(err)
		}
		if got := b.call(t, updateSettings, `{"timezone":"Asia/Tokyo"}`); got.code() != "permission_denied" {
			t.Errorf("the tool: %v", got.body)
		}
		_, err = account.SaveSettings(t.Context(), b.store.Tenant(demo, false), db.Actor{}, account.SettingsPatch{Timezone: new("Asia/Tokyo")})
		if !fault.Is(err, fault.ReadOnly) {
			t.Errorf("without the read-only flag: %v", err)
		}
		if after, err := account.GetSettings(t.Context(), b.store.Tenant(demo, true)); err != nil || after != before {
			t.Errorf("now %+v, %v", after, err)
		}
	})
}
