package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// The databases compute the same strength as strength.Of for the same contacts.
func TestStrengthIsThatOfTheDefinition(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			now := time.Now().UTC().Truncate(time.Microsecond)
			var contacts []people.Contact
			var id string
			err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprintf("Person %d", n)})
				if err != nil {
					return err
				}
				id = made.Connection.ID
				for range rapid.IntRange(1, 8).Draw(rt, "contacts") {
					c := people.Contact{
						Kind:       rapid.SampledFrom([]string{"meeting", "call", "email", "message", "event", "intro", "other"}).Draw(rt, "kind"),
						OccurredAt: now.Add(-time.Duration(rapid.IntRange(-20*3600, 1000*24*3600).Draw(rt, "age")) * time.Second),
					}
					contacts = append(contacts, c)
					if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: c.Kind, OccurredAt: c.OccurredAt, ConnectionIDs: []string{id}}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			rows, err := insights.LoadMeeting(t.Context(), s.Tenant(owner, true), []string{id}, now)
			if err != nil {
				rt.Fatal(err)
			}
			got := rows.Strengths[id]
			got.LastInteractionAt = got.LastInteractionAt.UTC()
			want := people.Of(contacts, now)
			if diff := got.Score - want.Score; diff < -1 || diff > 1 { // at a half, the last digit decides
				rt.Errorf("score %d, want %d", got.Score, want.Score)
			}
			got.Score = want.Score
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Errorf("(-want +got):\n%s", diff)
			}
		})
	})
}

// An organisation is found by each way to name it; an exact match comes before a partial
// one.
func TestListPeopleAtFindsOrganisations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for name, organization := range map[string]string{"Ana": "Helios GmbH", "Ben": "Helios Energy", "Cleo": "Müller & Söhne AG", "Dora": "100% Pure_Co"} {
				_, err := people.Create(ctx, u, people.Draft{Name: name, Organization: organization, Emails: []string{name + "@mail.example"}})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ix := searchIndex(t, s, owner)
		for query, want := range map[string][]string{
			"helios": {"Helios GmbH"}, "HELIOS Inc.": {"Helios GmbH"}, "helios.example": {"Helios GmbH"}, "elio": {"Helios GmbH", "Helios Energy"},
			"energy": {"Helios Energy"}, "muller": {"Müller & Söhne AG"}, "MÜLLER & söhne": {"Müller & Söhne AG"}, "%": {"100% Pure_Co"}, "_": {"100% Pure_Co"}, "x": nil,
		} {
			rows, err := insights.ListPeopleAt(t.Context(), s.Tenant(owner, true), ix, insights.ParsePlace(query), insights.AtOptions{Past: true, OneStep: true, Limit: 50}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, rows.Organizations); diff != "" || len(rows.People) != len(want) {
				t.Errorf("%s finds %d people at (-want +got):\n%s", query, len(rows.People), diff)
			}
		}
		rows, err := insights.ListPeopleAt(t.Context(), s.Tenant(owner, true), ix, insights.ParsePlace("mail.example"), insights.AtOptions{Past: true, OneStep: true, Limit: 50}, time.Now())
		if err != nil || len(rows.Mailboxes) != 4 || len(rows.Organizations) != 0 {
			t.Errorf("by a domain: %+v, %v", rows, err)
		}
	})
}
