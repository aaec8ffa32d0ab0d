package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// granted makes a grant of the member that ends at a time, and returns its bearer.
func (b *bundle) granted(t *testing.T, clientID *string, end time.Time) (bearer string) {
	t.Helper()
	c := &oauth.Client{Name: "agent", RedirectURIs: []string{"https://agent.example/cb"}}
	if err := oauth.CreateClient(t.Context(), b.store, c); err != nil {
		t.Fatal(err)
	}
	*clientID = c.ID
	g := &oauth.Grant{ID: "grt_01KBS0000000000000000000ZZ", MemberID: b.member, ClientID: c.ID, Scopes: "connections write", CreatedAt: b.store.Now(), ExpiresAt: end}
	bearer = oauth.PrefixAccessToken + "paused-test"
	err := b.store.Write(t.Context(), func(ctx context.Context, tx db.Querier) error {
		if _, err := tx.NewInsert().Model(g).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewRaw("INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
			g.ID, oauth.Hash(bearer), g.Scopes, b.store.Now(), b.store.Now().Add(time.Hour)).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bearer
}

// While an agent is paused, every tool is refused with a stable reason. GetPrincipal, which the
// edge calls, still works.
func TestPausedAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		var clientID string
		end := time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)
		b.bearer = b.granted(t, &clientID, end)
		const wanted = "2099-01-02T03:04:05Z"
		if told := b.call(t, accountPath, `{}`).at("credential", "grant_expires_at"); told != wanted {
			t.Errorf("get_account tells the end %v", told)
		}
		if err := oauth.PauseAgent(t.Context(), b.store, b.member, clientID); err != nil {
			t.Fatal(err)
		}
		for _, tool := range b.rpcs.Tools() {
			a := b.call(t, tool.Procedure, `{}`)
			if a.code() != "permission_denied" || fmt.Sprint(a.at("details", 0, "debug")) != "map[reason:agent_paused]" {
				t.Errorf("%s: %v", tool.Tool.Name, a.body)
			}
		}
		who := b.call(t, "/kith.access.v1.AccessService/GetPrincipal", `{}`)
		if who.at("paused") != true || who.at("grant_expires_at") != wanted {
			t.Errorf("the edge is told %v", who.body)
		}
		if err := oauth.ResumeAgent(t.Context(), b.store, b.member, clientID); err != nil {
			t.Fatal(err)
		}
		if a := b.call(t, create, `{"name":"Grace"}`); a.status != http.StatusOK {
			t.Errorf("after the pause: %d %v", a.status, a.body)
		}
	})
}
