package integration_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

//go:fix inline
func write(t *testing.T, s *db.DB, owner tenant.ID, fn func(context.Context, *db.Tx) error) error {
	t.Helper()
	return s.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialID: "pat_test", Tool: "test"}, fn)
}

func create(t *testing.T, s *db.DB, owner tenant.ID, d people.Draft) *people.Connection {
	t.Helper()
	return createWritten(t, s, owner, d).Connection
}

func createWritten(t *testing.T, s *db.DB, owner tenant.ID, d people.Draft) (out people.Written) {
	t.Helper()
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = people.Create(ctx, u, d)
		return err
	})
	if err != nil {
		t.Fatalf("create %s: %v", d.Name, err)
	}
	return out
}

func update(t *testing.T, s *db.DB, owner tenant.ID, p people.Patch) (out people.Written, err error) {
	t.Helper()
	err = write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = people.Update(ctx, u, p)
		return err
	})
	return out, err
}

func TestConnectionRoundTrip(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		made := create(t, s, owner, people.Draft{
			Name: "  Ana   Łopez ", Nickname: "Annie", Organization: "Helios GmbH", Title: "Founder", Location: "Kraków",
			Bio: "Two\nlines", MetOn: "2024-05", MetHow: "at a fair", Emails: []string{"Ana@helios.example", "ana@HELIOS.example", "a@b.example"},
			Phones: []string{"+48 22 555 0100"}, URLs: []string{"https://www.helios.example/ana/"}, Tags: []string{"Investor", "investor", "Friend"},
			Starred: true, Source: people.SourceAgent,
		})
		got, err := people.GetConnection(t.Context(), s.Tenant(owner, false), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("made and read differ:\n%s", diff)
		}
		if got.Name != "Ana Łopez" || got.CurrentPosition().Headline() != "Founder at Helios GmbH" {
			t.Errorf("name %q, headline %q", got.Name, got.CurrentPosition().Headline())
		}
		if want := []string{"Ana@helios.example", "a@b.example"}; !slices.Equal(got.Values(people.KindEmail), want) {
			t.Errorf("e-mails %v", got.Values(people.KindEmail))
		}
		if want := []string{"Friend", "Investor"}; !slices.Equal(got.Tags, want) {
			t.Errorf("tags %v", got.Tags)
		}
	})
}

func TestUpdateConnection(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		c := create(t, s, owner, people.Draft{
			Name: "Ana Lopez", Organization: "Helios", Title: "Founder", Emails: []string{"ana@helios.example"}, Tags: []string{"friend"},
		})
		written, err := update(t, s, owner, people.Patch{
			ID: c.ID, Organization: new("Nimbus Ltd"), Title: new("Engineer"), Location: new("Zürich"),
			Emails: people.Edit{Add: []string{"ana@nimbus.example"}, Remove: []string{"ANA@helios.example"}},
			Tags:   people.Edit{Add: []string{"investor"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := people.GetConnection(t.Context(), s.Tenant(owner, false), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written.Connection, got); diff != "" {
			t.Errorf("written and read differ:\n%s", diff)
		}
		if got.Version != 2 || len(got.Positions) != 2 || got.Positions[1].Organization != "Helios" || got.Positions[1].Current {
			t.Errorf("version %d, positions %+v", got.Version, got.Positions)
		}
		again, err := update(t, s, owner, people.Patch{ID: c.ID, Location: new("Zürich")})
		if err != nil || again.ChangeID != "" || again.Connection.Version != 2 {
			t.Errorf("a patch that changes nothing: %+v, %v", again, err)
		}
	})
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		first := create(t, s, owner, people.Draft{
			Name: "Ana López", Organization: "Helios GmbH", Emails: []string{"ana@helios.example"}, Phones: []string{"+48 22 555-0100"},
		})
		for name, d := range map[string]people.Draft{
			"same e-mail":                {Name: "A. L.", Emails: []string{"ANA@helios.example"}},
			"same phone":                 {Name: "A. L.", Phones: []string{"0048 (22) 5550100"}},
			"same name and organisation": {Name: "ana lopez", Organization: "Helios"},
		} {
			if got := createWritten(t, s, owner, d); got.DuplicateOf != first.ID || got.Connection.ID != first.ID || got.ChangeID != "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
		stranger := createWritten(t, s, owner, people.Draft{Name: "Bo Berg", Emails: []string{"bo@x.example"}, Phones: []string{"+48 22 5550100"}})
		if sharing := []people.Sharing{{ID: first.ID, Name: "Ana López", Kind: people.KindPhone}}; stranger.DuplicateOf != "" || !slices.Equal(stranger.Sharing, sharing) {
			t.Errorf("same phone, another name: %+v", stranger)
		}
		if got := createWritten(t, s, owner, people.Draft{Name: "Ana López"}); got.DuplicateOf != "" {
			t.Errorf("the name alone is no duplicate: %+v", got)
		}
		if got := createWritten(t, s, other, people.Draft{Name: "Ana", Emails: []string{"ana@helios.example"}}); got.DuplicateOf != "" {
			t.Errorf("another member's people count: %+v", got)
		}
		second := createWritten(t, s, owner, people.Draft{Name: "A", Emails: []string{"ana@helios.example"}, OnDuplicate: people.OnDuplicateCreate})
		if second.DuplicateOf != first.ID || second.Connection.ID == first.ID || second.ChangeID == "" {
			t.Errorf("create all the same: %+v", second)
		}
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, err := people.Create(ctx, u, people.Draft{Name: "A", Emails: []string{"ana@helios.example"}, OnDuplicate: people.OnDuplicateError})
			return err
		})
		if !fault.Is(err, fault.AlreadyExists) {
			t.Errorf("error on duplicates: %v", err)
		}
	})
}

// A person added by many callers at once is stored once.
func TestConcurrentCreates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		const callers = 40
		var made, found int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				var out people.Written
				err := s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) (err error) {
					out, err = people.Create(ctx, u, people.Draft{Name: "Ana", Emails: []string{"ana@helios.example"}, Tags: []string{"x"}, Organization: "Helios"})
					return err
				})
				if err != nil {
					t.Errorf("create: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if out.DuplicateOf == "" {
					made++
				} else {
					found++
				}
			})
		}
		wg.Wait()
		if made != 1 || found != callers-1 {
			t.Errorf("made %d, found %d", made, found)
		}
	})
}

// Of concurrent patches of one version, one succeeds and the others conflict.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		c := create(t, s, owner, people.Draft{Name: "Ana"})
		const callers = 20
		var won, refused int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				version, nickname := int32(1), string(rune('a'+i))
				err := s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
					_, err := people.Update(ctx, u, people.Patch{ID: c.ID, ExpectedVersion: &version, Nickname: &nickname})
					return err
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case fault.Is(err, fault.Conflict):
					refused++
				default:
					t.Errorf("update: %v", err)
				}
			})
		}
		wg.Wait()
		if won != 1 || refused != callers-1 {
			t.Errorf("won %d, refused %d", won, refused)
		}
	})
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana"})
		ben := create(t, s, owner, people.Draft{Name: "Ben"})
		base := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for i := range 5 {
				if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{
					Kind: "call", OccurredAt: base.AddDate(0, 0, i), Summary: "call", ConnectionIDs: []string{ana.ID, ben.ID}[:1+i%2],
				}); err != nil {
					return err
				}
			}
			_, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "likes tea", ConnectionIDs: []string{ana.ID}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		data := s.Tenant(owner, false)
		all, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Limit: 50})
		if err != nil || len(all) != 6 || all[0].Kind != timeline.KindNote || all[0].Text != "likes tea" {
			t.Fatalf("whole timeline: %+v, %v", all, err)
		}
		if got := all[2].Participants; len(got) != 2 || got[0].Name != "Ana" && got[1].Name != "Ana" {
			t.Errorf("participants: %+v", got)
		}
		bens, err := timeline.ListTimeline(t.Context(), data, timeline.Query{ConnectionID: ben.ID, Limit: 50})
		if err != nil || len(bens) != 2 {
			t.Errorf("of one connection: %+v, %v", bens, err)
		}
		var paged []string
		var after *timeline.Cursor
		for {
			page, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Limit: 2, After: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				paged = append(paged, e.ID)
			}
			after = &timeline.Cursor{OccurredAt: page[len(page)-1].OccurredAt, ID: page[len(page)-1].ID}
		}
		var whole []string
		for _, e := range all {
			whole = append(whole, e.ID)
		}
		if !slices.Equal(paged, whole) {
			t.Errorf("pages laid end to end: %v, whole: %v", paged, whole)
		}
		calls, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Kinds: []string{"call"}, Since: base.AddDate(0, 0, 1), Until: base.AddDate(0, 0, 3), Limit: 50})
		if err != nil || len(calls) != 2 {
			t.Errorf("filtered: %+v, %v", calls, err)
		}
		if _, err := timeline.ListTimeline(t.Context(), data, timeline.Query{ConnectionID: "con_ch541ck879", Limit: 1}); !fault.Is(err, fault.NotFound) {
			t.Errorf("unknown connection: %v", err)
		}
		got, err := people.GetConnection(t.Context(), data, ana.ID)
		if err != nil || !got.LastInteractionAt.Equal(base.AddDate(0, 0, 4)) {
			t.Errorf("last contact %v, %v", got.LastInteractionAt, err)
		}
	})
}

func TestExternalKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana"})
		var ids []string
		for range 2 {
			err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				logged, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: []string{ana.ID}, ExternalKey: "event-1"})
				if err == nil {
					ids = append(ids, logged.Interactions[0].ID, logged.ChangeID)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if ids[0] != ids[2] || ids[1] == "" || ids[3] != "" {
			t.Errorf("ids and changes: %v", ids)
		}
	})
}

func TestLoadDocuments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana", Organization: "Helios", Title: "Founder", Emails: []string{"ana@helios.example"}, Tags: []string{"friend"}})
		create(t, s, owner, people.Draft{Name: "Ben"})
		data := s.Tenant(owner, false)
		first, err := search.LoadDocuments(t.Context(), data, -1)
		if err != nil || len(first.Changed) != 2 {
			t.Fatalf("all: %+v, %v", first, err)
		}
		err = write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "likes tea", ConnectionIDs: []string{ana.ID}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		second, err := search.LoadDocuments(t.Context(), data, first.Version)
		if err != nil || len(second.Changed) != 1 || second.Version <= first.Version {
			t.Fatalf("changed since: %+v, %v", second, err)
		}
		d := second.Changed[0]
		if d.ID != ana.ID || d.Headline != "Founder at Helios" || !slices.Equal(d.Notes, []string{"likes tea"}) ||
			!slices.Equal(d.Emails, []string{"ana@helios.example"}) || !slices.Equal(d.Tags, []string{"friend"}) {
			t.Errorf("document: %+v", d)
		}
	})
}

// A profile is the same address whether it was stored as a social profile or as a web
// address.
func TestFindDuplicateComparesProfilesAndWebAddresses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		const profile = "https://www.linkedin.com/in/ana/"
		ana := do(t, s, owner, func(ctx context.Context, u *db.Tx) (*people.Connection, error) {
			c := &people.Connection{Name: "Ana", Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now(), Handles: []people.Handle{
				{Kind: people.KindSocial, Value: profile, NormalValue: people.NormalValue(people.KindSocial, profile)},
			}}
			return c, people.InsertConnection(ctx, u, c)
		})
		got := createWritten(t, s, owner, people.Draft{Name: "A.", URLs: []string{"http://linkedin.com/in/ana"}})
		if got.DuplicateOf != ana.ID || got.ChangeID != "" {
			t.Errorf("got %+v", got)
		}
	})
}
