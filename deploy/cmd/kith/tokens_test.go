package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/server"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for given, want := range map[string]time.Time{
		"never": {}, "30d": now.AddDate(0, 0, 30), "720h": now.AddDate(0, 0, 30), "90m": now.Add(90 * time.Minute),
		"2027-01-31": time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := expiry(given, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", given, got, err)
		}
	}
	for _, given := range []string{"", "0d", "-1d", "1.5d", "d", "70000d", "99999999999999999999d", "0s", "-1h", "tomorrow", "2027-02-30", "30"} {
		if got, err := expiry(given, now); err == nil || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q: %v, %v", given, got, err)
		}
	}
}

func TestDescribeToken(t *testing.T) {
	t.Parallel()
	free := server.TokenInfo{ID: "pat_1", Name: "laptop", Scopes: []string{"connections", "write"}}
	if got, want := describeToken("ada", free), "Token laptop (pat_1) of ada holds the scopes connections, write.\n"+
		"It may call every tool of these scopes.\nIt does not expire.\nKeep the token below: it is not shown again.\n"; got != want {
		t.Errorf("got %q", got)
	}
}
