package integration_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// insightReads are the reads of a whole network, and those for exports.
func insightReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListPeopleAt": func(ctx context.Context, _ victim) (any, error) {
			byName, err := insights.ListPeopleAt(ctx, data, index.New(), insights.ParsePlace(secret), insights.AtOptions{Past: true, OneStep: true, Limit: 50}, time.Now())
			if err != nil {
				return nil, err
			}
			byDomain, err := insights.ListPeopleAt(ctx, data, index.New(), insights.ParsePlace("victim.example"), insights.AtOptions{Past: true, OneStep: true, Limit: 50}, time.Now())
			return []any{byName, byDomain}, err
		},
		"LoadMeeting": func(ctx context.Context, v victim) (any, error) {
			return insights.LoadMeeting(ctx, data, []string{v.connection, v.relative}, time.Now())
		},
		"ListAcquainted": func(ctx context.Context, v victim) (any, error) {
			known, err := insights.ListAcquainted(ctx, data, []insights.Pair{insights.NewPair(v.connection, v.relative)})
			return len(known), refuse(len(known) > 0, err)
		},
		"GetStats": func(ctx context.Context, _ victim) (any, error) {
			return insights.GetStats(ctx, data, index.New(), time.Now(), time.UTC)
		},
		"ListByHandle": func(ctx context.Context, v victim) (any, error) {
			found, err := people.ListByHandle(ctx, data, people.KindEmail, []string{v.email})
			return len(found), refuse(len(found) > 0, err)
		},
		"ListByName": func(ctx context.Context, _ victim) (any, error) {
			found, err := people.ListByName(ctx, data, []string{strings.ToLower(secret)})
			return len(found), refuse(len(found) > 0, err)
		},
		"ListCourses": func(ctx context.Context, v victim) (any, error) {
			found, err := insights.ListCourses(ctx, data, []string{v.connection, v.relative}, []time.Time{time.Now().AddDate(1, 0, 0)})
			return len(found), refuse(len(found) > 0, err)
		},
		"ListHeadlines": func(ctx context.Context, v victim) (any, error) {
			return insights.ListHeadlines(ctx, data, []string{v.connection})
		},
		"ListPeople": func(ctx context.Context, v victim) (any, error) {
			all, _, err := export.ListPeople(ctx, data, export.PeopleFilter{Limit: 200, Timeline: true})
			if err != nil {
				return nil, err
			}
			one, _, err := export.ListPeople(ctx, data, export.PeopleFilter{IDs: []string{v.connection}, Limit: 200, Timeline: true})
			return []any{all, one}, err
		},
		"ExportPeople": func(ctx context.Context, _ victim) (any, error) {
			var all []any
			err := export.ExportPeople(ctx, data, true, true, func(page export.People) error {
				all = append(all, page)
				return nil
			})
			return all, err
		},
	}
}

// refuse marks an answer that holds anything of the victim's.
func refuse(found bool, err error) error {
	if found {
		return errFound
	}
	return err
}

var errFound = sql.ErrTxDone

// profileWrites are the writes of the member's own page and settings.
func profileWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"GetSettings": func(ctx context.Context, _ victim) (any, error) { return account.GetSettings(ctx, u) },
		"UpdateSettings": func(ctx context.Context, _ victim) (any, error) {
			now, changeID, err := account.UpdateSettings(ctx, u, account.SettingsPatch{Timezone: new("Asia/Tokyo"), Locale: new("ja")})
			return []any{now, changeID}, err
		},
		"RestoreSettings": func(ctx context.Context, v victim) (any, error) {
			restorer := account.RestoreSettings(u)
			now, err := restorer.Current(ctx, []string{string(v.tenant)})
			if err != nil {
				return now, err
			}
			_, err = restorer.Restore(ctx, map[string]json.RawMessage{string(v.tenant): []byte(`{"Timezone":"Asia/Tokyo","Locale":"ja"}`)})
			return now, err
		},
		"GetOwnProfile": func(ctx context.Context, _ victim) (any, error) { return account.GetOwnProfile(ctx, u) },
		"ReplaceProfile": func(ctx context.Context, v victim) (any, error) {
			own, err := account.GetOwnProfile(ctx, u)
			if err != nil {
				return nil, err
			}
			return nil, account.ReplaceProfile(ctx, u, &account.Profile{MemberID: v.tenant, Name: "stolen", Visibility: account.Public, UpdatedAt: own.UpdatedAt})
		},
	}
}

// refusesOtherMembers checks that the tenant's role reaches its own settings only, and
// nothing else of members.
func refusesOtherMembers(t *testing.T, db *sql.DB, own tenant.ID) {
	t.Helper()
	var seen, others int
	err := db.QueryRow("SELECT count(id), count(CASE WHEN id <> $1 THEN 1 END) FROM members", string(own)).Scan(&seen, &others)
	if err != nil || seen != 1 || others != 0 {
		t.Errorf("the tenant's role sees %d members, %d others: %v", seen, others, err)
	}
	result, err := db.Exec("UPDATE members SET timezone = 'stolen' WHERE id <> $1", string(own))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 0 {
		t.Errorf("the settings of %d others were changed: %v", n, err)
	}
	for _, statement := range []string{
		"SELECT * FROM members", "SELECT email FROM members", "SELECT password_hash FROM members", "SELECT username FROM members",
		"UPDATE members SET plan = 'pro'", "UPDATE members SET email = 'x@y.example'", "UPDATE members SET id = 'mem_x'", "UPDATE members SET suspended_at = NULL",
		"DELETE FROM members", "INSERT INTO members (id, timezone) VALUES ('mem_x', 'UTC')",
	} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s was allowed", statement)
		}
	}
}

// refusesOtherProfiles checks that the tenant's role reaches its own page only.
func refusesOtherProfiles(t *testing.T, db *sql.DB, own tenant.ID) {
	t.Helper()
	var seen, others int
	err := db.QueryRow("SELECT count(*), count(CASE WHEN member_id <> $1 THEN 1 END) FROM profiles", string(own)).Scan(&seen, &others)
	if err != nil || seen != 1 || others != 0 {
		t.Errorf("the tenant's role sees %d profiles, %d of others: %v", seen, others, err)
	}
	result, err := db.Exec("UPDATE profiles SET name = 'stolen' WHERE member_id <> $1", string(own))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 0 {
		t.Errorf("%d profiles of others were changed: %v", n, err)
	}
	for _, statement := range []string{"DELETE FROM profiles", "INSERT INTO profiles (member_id, updated_at) VALUES ('mem_x', now())"} {
		if _, err := db.Exec(statement); err == nil {
			t.Errorf("%s was allowed", statement)
		}
	}
}
