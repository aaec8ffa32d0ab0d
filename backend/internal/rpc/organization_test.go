package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

const updateOrganization = "/kith.connections.v1.ConnectionService/UpdateOrganization"

// update_organization changes, renames and merges organisations, and find_people_at returns their website, notes and domain.
func TestUpdateOrganization(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana","organization":"Helios","emails":["ana@helios.example"]}`)
		b.made(t, `{"name":"Ben","organization":"Helios Energy"}`)
		b.call(t, logCall, fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","occurred_at":"2026-01-05"}`, ana))
		at := func(name string) answer { return b.call(t, findPeopleAt, fmt.Sprintf(`{"organization":%q}`, name)) }

		changed := b.call(t, updateOrganization, `{"name":"helios","website":"https://helios.example","notes":"Solar."}`)
		if changed.at("organization", "website") != "https://helios.example" || changed.at("change_id") == nil || at("helios").at("organization", "notes") != "Solar." {
			t.Errorf("changed: %v", changed.body)
		}
		if again := b.call(t, updateOrganization, `{"name":"Helios","notes":"Solar."}`); again.at("change_id") != nil || again.code() != "" {
			t.Errorf("again: %v", again.body)
		}
		for path, want := range map[string]any{"domain": "helios.example", "people_now": 1.0, "last_contact_on": "2026-01-05", "last_contact_name": "Ana", "last_contact_id": ana} {
			if got := at("Helios").at("organization", path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		if two := at("heli"); two.at("organizations", 1) == nil || two.at("organization") != nil {
			t.Errorf("two organisations: %v", two.body)
		}
		merged := b.call(t, updateOrganization, `{"name":"Helios Energy","new_name":"Helios"}`)
		if merged.at("organization", "people_now") != 2.0 || at("heli").at("organization", "people_now") != 2.0 || at("Helios Energy").code() != "invalid_argument" {
			t.Errorf("merged: %v, %v", merged.body, at("heli").body)
		}
		b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q,"dry_run":false}`, merged.at("change_id")))
		if at("Helios Energy").at("people", 0, "person", "name") != "Ben" {
			t.Errorf("undone: %v", at("Helios Energy").body)
		}
		for body, says := range map[string]string{
			`{"name":"Helos","notes":"x"}`:           `nearest: "Helios"`,
			`{"name":"Helios","new_name":" \u200b"}`: "new_name",
			`{"notes":"x"}`:                          "name",
		} {
			if got := b.call(t, updateOrganization, body); got.code() == "" || !strings.Contains(got.message(), says) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}
