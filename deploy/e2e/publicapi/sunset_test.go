// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run TestSunset

package publicapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestSunset: a removal date is announced, then sent in headers, and then the path is gone,
// from the description too. A date that is moved earlier prevents the start. The test moves
// the stored dates into the past instead of waiting.
func TestSunset(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		in := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
		mcp := func() harness.Response {
			return s.Send(t, http.MethodPost, harness.PathDeprecated, harness.Request(t, "ping", nil), harness.JSONType)
		}
		described := func() bool {
			return strings.Contains(s.Send(t, http.MethodGet, "/openapi.json", "").Body, `"`+harness.PathDeprecated+`":`)
		}
		if got := mcp(); got.Header.Get("Sunset") != "" || got.Header.Get("Deprecation") != "true" {
			t.Errorf("without a date: %v", got.Header)
		}

		refuseSunset(t, s, in(179), "the earliest date is")
		restartFront(s, in(190))
		at, err := time.Parse(time.DateOnly, in(190))
		if err != nil {
			t.Fatal(err)
		}
		if got := mcp(); got.Status != http.StatusUnauthorized || got.Header.Get("Sunset") != at.Format(http.TimeFormat) || !described() {
			t.Errorf("announced: %d %v", got.Status, got.Header)
		}
		refuseSunset(t, s, in(189), "earlier")
		restartFront(s, in(191))

		harness.ExecDatabase(t, s.DatabaseURL, "UPDATE sunsets SET first_announced_at = '"+in(-200)+" 00:00:00+00:00', sunset_at = '"+in(-1)+" 00:00:00+00:00'")
		restartFront(s, in(-1))
		got := mcp()
		harness.CheckSame(t, "status and description after the date", []any{got.Status, described()}, []any{http.StatusGone, false})
		if !strings.Contains(got.Header.Get("Link"), s.Base+harness.PathCurrent) || got.Header.Get("Sunset") == "" {
			t.Errorf("after the date: %v", got.Header)
		}
	})
}

// restartFront starts the process that answers agents with another removal date.
func restartFront(s *harness.Service, sunset string) {
	s.T.Helper()
	s.Settings["KITH_SUNSET_MCP"] = sunset
	s.Edge.Stop()
	if s.Topology.Split {
		s.StartEdge()
	} else {
		s.Start()
	}
}

// refuseSunset fails the test if the process that answers agents starts with the date.
func refuseSunset(t *testing.T, s *harness.Service, sunset, why string) {
	t.Helper()
	command, own := "serve", s.Database()
	if s.Topology.Split {
		command, own = "edge", map[string]string{"KITH_BACKEND_URL": "http://" + s.BackendAddr, "KITH_SERVICE_TOKEN": s.ServiceToken}
	}
	done := harness.RunBriefly(t, t.TempDir(), harness.Environment(s.Settings, own, map[string]string{
		"KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": "off", "KITH_SUNSET_MCP": sunset, "OTEL_TRACES_EXPORTER": "none", "KITH_LOG_LEVEL": "error",
	}), nil, command)
	harness.CheckOneSentence(t, done, "mcp", sunset, why)
}
