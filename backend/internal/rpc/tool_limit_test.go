package rpc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
)

// limitedTo makes a token of the member with every scope that is limited to tools.
func (b *bundle) limitedTo(t *testing.T, tools string) (bearer string) {
	t.Helper()
	bearer, err := account.GenerateToken()
	if err != nil {
		t.Fatal(err)
	}
	row := &account.PersonalToken{MemberID: b.member, Name: "limited", Hash: account.HashSecret(bearer), Scopes: "connections timeline imports account write", Tools: tools}
	if err := account.CreatePersonalToken(t.Context(), b.store, row); err != nil {
		t.Fatal(err)
	}
	return bearer
}

// A token that is limited to named tools can call only those, and what every valid credential may
// call, no matter what its scopes are and which edge forwards the call.
func TestTokenLimitedToTools(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		all := b.bearer
		b.bearer = b.limitedTo(t, "search_connections")
		if a := b.call(t, searchPath, `{"query":"x"}`); a.status != http.StatusOK {
			t.Errorf("search_connections: %d %v", a.status, a.body)
		}
		if a := b.call(t, getJob, `{"task_id":7}`); a.code() != "not_found" {
			t.Errorf("get_job: %d %v", a.status, a.body)
		}
		for _, tool := range b.rpcs.Tools() {
			if name := tool.Tool.Name; name == "search_connections" || name == "get_account" || name == "get_job" {
				continue
			}
			a := b.call(t, tool.Procedure, `{}`)
			detail := a.at("details", 0, "debug")
			if a.code() != "permission_denied" || fmt.Sprint(detail) != "map[allowed_tools:[search_connections] reason:limited_to_tools]" {
				t.Errorf("%s: %v", tool.Tool.Name, a.body)
			}
		}
		told := b.call(t, accountPath, `{}`)
		if fmt.Sprint(told.at("credential", "tools")) != "[search_connections]" {
			t.Errorf("get_account tells %v", told.at("credential"))
		}
		unavailable := told.at("unavailable_tools")
		if list, _ := unavailable.([]any); len(list) != len(b.rpcs.Tools())-3 {
			t.Errorf("unavailable: %v", unavailable)
		}
		if reason := told.at("unavailable_tools", 0, "reason"); reason != "limited_to_tools" {
			t.Errorf("the reason is %v", reason)
		}
		who := b.call(t, "/kith.access.v1.AccessService/GetPrincipal", `{}`)
		if fmt.Sprint(who.at("tools")) != "[search_connections]" {
			t.Errorf("the edge is told %v", who.body)
		}
		// A token that was made without tools has no limit.
		b.bearer = all
		if a := b.call(t, create, `{"name":"Grace"}`); a.status != http.StatusOK {
			t.Errorf("a token without a limit: %d %v", a.status, a.body)
		}
	})
}
