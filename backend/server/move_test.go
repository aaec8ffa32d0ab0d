package server

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
)

// An imported member has the credits of the plan here, whatever the file says, less what was spent.
func TestImportedCreditsAreOfThePlanHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(name string, free int) *Admin {
		url := filepath.Join(dir, name)
		if _, err := Migrate(t.Context(), url, false); err != nil {
			t.Fatal(err)
		}
		a, err := OpenAdmin(t.Context(), url, map[string]int{account.PlanFree: free}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	rich, poor := open("rich.db", 900_000_000), open("poor.db", 1_000)
	if err := rich.CreateMember(t.Context(), NewMember{Username: "maria", Email: "maria@people.example", Password: "amber lantern fjord", Plan: account.PlanFree}); err != nil {
		t.Fatal(err)
	}
	m, err := account.GetMember(t.Context(), rich.store, "maria")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rich.ledger.ChargeRead(t.Context(), billing.Charge{Tenant: m.ID, Tool: "search_connections", Price: 7}); err != nil {
		t.Fatal(err)
	}
	if err := rich.ledger.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "maria.gz")
	if _, err := rich.ExportAccount(t.Context(), "maria", file, false); err != nil {
		t.Fatal(err)
	}
	if _, err := poor.ImportAccount(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if b, err := poor.ledger.GetCredits(t.Context(), m.ID); err != nil || b.Allowance != 1_000 || b.Remaining != 993 {
		t.Errorf("the member has %+v, %v", b, err)
	}
}
