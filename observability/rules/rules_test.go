package rules_test

import (
	"math"
	"testing"

	"github.com/kith-crm/kith/observability/rules"
)

// Limits are parsed as Prometheus parses them.
func TestAlerts(t *testing.T) {
	t.Parallel()
	all, err := rules.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]rules.Alert{
		"KithErrors":             {Severity: "page", Comparison: ">", Limit: 0.05},
		"KithSignInsFail":        {Severity: "page", Comparison: ">", Limit: 0.05},
		"KithStoreDown":          {Severity: "page", Comparison: "==", Limit: 0},
		"KithCertificateExpires": {Severity: "ticket", Comparison: "<", Limit: 14 * 86400},
		"KithSandboxStale":       {Severity: "ticket", Comparison: ">", Limit: 25 * 3600},
		"KithDiskFills":          {Severity: "ticket", Comparison: "<", Limit: 0.15},
	} {
		want.Name, want.Runbook = name, "https://github.com/kith-crm/kith/blob/main/observability/runbooks/"+name+".md"
		if all[name] != want {
			t.Errorf("%s is %+v", name, all[name])
		}
	}
	if len(all) < 15 {
		t.Errorf("only %d alerts are read", len(all))
	}
}

func TestFires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		comparison    string
		limit, figure float64
		want          bool
	}{
		{">", 5, 5, false}, {">", 5, 5.1, true}, {"<", 5, 5, false}, {"<", 5, 4.9, true}, {"==", 0, 0, true}, {"==", 0, 1, false},
		{">", 5, math.NaN(), false}, {"<", 5, math.NaN(), false}, {"==", 0, math.NaN(), false}, {">", 5, math.Inf(1), true},
	} {
		if got := (rules.Alert{Comparison: c.comparison, Limit: c.limit}).Fires(c.figure); got != c.want {
			t.Errorf("%v %s %v: %t", c.figure, c.comparison, c.limit, got)
		}
	}
}
