package account_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/proto/catalog"
)

func TestCheckTools(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		tools, scopes []string
		refusal       string // empty when it is fine
	}{
		"no limit":             {nil, nil, ""},
		"within its scopes":    {[]string{"search_connections", "add_note"}, []string{"connections", "timeline", "write"}, ""},
		"a tool without scope": {[]string{"get_account"}, nil, ""},
		"an unknown tool":      {[]string{"serch_connections"}, c.Scopes(), `"search_connections"`},
		"an empty name":        {[]string{""}, c.Scopes(), "there is no tool"},
		"twice":                {[]string{"add_note", "add_note"}, c.Scopes(), "named twice"},
		"a missing group":      {[]string{"search_connections"}, []string{"timeline", "write"}, "needs the scope connections"},
		"a missing write":      {[]string{"add_note"}, []string{"timeline"}, "needs the scope write"},
	} {
		err := account.CheckTools(c, x.tools, x.scopes)
		if x.refusal == "" && err != nil || x.refusal != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), x.refusal)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := account.ScopesOf(c, []string{"add_note", "search_connections"}); !slices.Equal(got, []string{"connections", "timeline", "write"}) {
		t.Errorf("scopes of two tools: %v", got)
	}
}
