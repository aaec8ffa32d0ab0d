package demo_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/sandbox"
)

// With the default threshold, exactly the 11 planted pairs are found; the two people who
// share only a name stay below it.
func TestFindsThePlantedDuplicates(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
		s := dbtest.Open(t, url, now)
		if _, err := seeder(t, s, now).Seed(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := oauth.Authenticate(t.Context(), s, sandbox.Token)
		if err != nil {
			t.Fatal(err)
		}
		persons, err := people.ListDuplicateCandidates(t.Context(), s.Tenant(p.Tenant, true))
		if err != nil {
			t.Fatal(err)
		}
		pairs, more := people.Find(persons, people.Query{MinScore: .5, Limit: 1000})
		if more {
			t.Error("more than 1000 pairs")
		}
		found := map[[2]string]people.Pair{}
		for _, pair := range pairs {
			found[[2]string{pair.First.ID, pair.Second.ID}] = pair
			found[[2]string{pair.Second.ID, pair.First.ID}] = pair
		}
		sure := 0
		for _, planted := range sandbox.Build(now()).Duplicates {
			pair := found[[2]string{planted.FirstID, planted.SecondID}]
			t.Logf("%-60s %.3f %v", planted.Reason, pair.Score, pair.Reasons)
			if planted.SamePerson != (pair.Score >= people.DefaultMinScore) {
				t.Errorf("%s: score %.3f", planted.Reason, pair.Score)
			}
			if planted.SamePerson {
				sure++
			} else if pair.Score != .7 {
				t.Errorf("the false pair has %.3f", pair.Score)
			}
		}
		for _, pair := range pairs {
			if pair.Score >= people.DefaultMinScore {
				sure--
			}
		}
		if sure != 0 {
			t.Errorf("%d pairs too few at the default", sure)
			for _, pair := range pairs {
				t.Logf("%.3f %s / %s %v", pair.Score, pair.First.Name, pair.Second.Name, pair.Reasons)
			}
		}
	})
}
