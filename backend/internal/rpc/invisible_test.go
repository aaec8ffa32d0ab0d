package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/connectheader"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	"github.com/kith-crm/kith/proto/gen/kith/directory/v1/directoryv1connect"
	"pgregory.net/rapid"
)

// Invisible characters in the input of any tool, from a member or from an outside source,
// are in no row and no answer: a model would read text that people don't see.
func TestInvisibleCharactersAreNotKept(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1_000_000, func(t *testing.T, p *paid) {
		s := newStage(t, p)
		rounds(t, 4, s.unused, func(rt *rapid.T) {
			a := s.newActor(t)
			a.hidden = true
			s.act(t, rt, a, 40, s.tools)
			for _, r := range s.rows(t, a.tenant) {
				for i, value := range r.values {
					if r.table == "files" && r.columns[i] == "content" { // stored unchanged, and read by no model
						continue
					}
					if strings.ContainsFunc(value, text.Invisible) || strings.Contains(value, `\\u20`) {
						rt.Fatalf("%s.%s holds invisible characters: %+q", r.table, r.columns[i], value)
					}
				}
			}
		})
	})
}

// What was stored before invisible characters were stripped is shown without them.
func TestInvisibleCharactersOfOldRowsAreNotShown(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		b := serve(t, s, time.Now)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		id := b.call(t, create, `{"name":"Ana","bio":"Bio"}`).at("connection", "id")
		db := dbtest.OpenSQL(t, url)
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE connections SET name = 'A\u202en\U000e0041a', bio = '👩\u200d🚀\u200b' WHERE id = '%s'", id)); err != nil {
			t.Fatal(err)
		}
		got := b.call(t, get, fmt.Sprintf(`{"id":%q}`, id))
		if got.at("connection", "name") != "Ana" || got.at("connection", "bio") != "👩\u200d🚀" {
			t.Errorf("%+q", got.text())
		}
	})
}

// Edges read public profiles in the binary codec; what they get of old rows has no
// invisible characters either.
func TestInvisibleCharactersOfOldProfilesReachNoEdge(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		b := serve(t, s, time.Now)
		b.show(t, dbtest.Member(t, s, "ana"), account.Profile{Name: "Ana", Visibility: account.Public, Listed: true})
		const hidden = "x\u200b\U000e0041葛\U000e0142"
		db := dbtest.OpenSQL(t, url)
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(`UPDATE profiles SET name = '%[1]s', headline = '%[1]s', bio = '%[1]s',
location_text = '%[1]s', country = '%[1]s', organization = '%[1]s', title = '%[1]s', avatar_url = '%[1]s', skills = '["%[1]s"]',
languages = '["%[1]s"]', open_to = '["%[1]s"]', links = '[{"Label":"%[1]s","URL":"%[1]s"}]', field_visibility = '{"headline":"public","bio":"public","location":"public",
"organization":"public","title":"public","skills":"public","languages":"public","links":"public","open_to":"public","avatar_url":"public"}'`, hidden)); err != nil {
			t.Fatal(err)
		}
		asEdge := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
				req.Header().Set(connectheader.ServiceToken, serviceToken)
				return next(ctx, req)
			}
		})
		edge := directoryv1connect.NewPublicDirectoryServiceClient(http.DefaultClient, b.url, connect.WithInterceptors(asEdge))
		one, err := edge.BatchGetProfiles(t.Context(), &directoryv1.BatchGetProfilesRequest{Usernames: []string{"ana"}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := edge.ListMembers(t.Context(), &directoryv1.ListMembersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][]*directoryv1.Profile{"profile": one.GetProfiles(), "directory": all.GetMembers()} {
			if len(got) != 1 {
				t.Fatalf("%s: %v", name, got)
			}
			shown := fmt.Sprint(got[0])
			if strings.ContainsFunc(shown, text.Invisible) || strings.Count(shown, "x葛") != 13 {
				t.Errorf("%s: %+q", name, shown)
			}
		}
	})
}
