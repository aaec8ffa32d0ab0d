package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSunset: the operator's date is announced, then sent, and then the path is
// gone, from the description too. A date that moves earlier keeps the service from
// starting. Time passes by setting back what the database keeps.
func TestSunset(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		in := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
		mcp := func() answer { return s.send(t, http.MethodPost, pathDeprecated, request(t, "ping", nil), jsonType) }
		described := func() bool {
			return strings.Contains(s.send(t, http.MethodGet, "/openapi.json", "").body, `"`+pathDeprecated+`":`)
		}
		if got := mcp(); got.header.Get("Sunset") != "" || got.header.Get("Deprecation") != "true" {
			t.Errorf("without a date: %v", got.header)
		}

		s.refuseSunset(t, in(179), "the earliest date is")
		s.restartFront(in(190))
		at, err := time.Parse(time.DateOnly, in(190))
		if err != nil {
			t.Fatal(err)
		}
		if got := mcp(); got.status != http.StatusUnauthorized || got.header.Get("Sunset") != at.Format(http.TimeFormat) || !described() {
			t.Errorf("announced: %d %v", got.status, got.header)
		}
		s.refuseSunset(t, in(189), "earlier")
		s.restartFront(in(191))

		execDatabase(t, s.databaseURL, "UPDATE sunsets SET first_announced_at = '"+in(-200)+" 00:00:00+00:00', sunset_at = '"+in(-1)+" 00:00:00+00:00'")
		s.restartFront(in(-1))
		got := mcp()
		if got.status != http.StatusGone || !strings.Contains(got.header.Get("Link"), s.base+pathCurrent) || got.header.Get("Sunset") == "" || described() {
			t.Errorf("after the date: %d %v, described: %t", got.status, got.header, described())
		}
	})
}

// restartFront starts the process that answers agents with another removal date.
func (s *service) restartFront(sunset string) {
	s.t.Helper()
	s.settings["KITH_SUNSET_MCP"] = sunset
	s.front.stop()
	if s.topology.split {
		s.startFront()
	} else {
		s.start()
	}
}

// refuseSunset wants the process that answers agents not to start with a date.
func (s *service) refuseSunset(t *testing.T, sunset, why string) {
	t.Helper()
	command, own := "serve", s.database()
	if s.topology.split {
		command, own = "edge", map[string]string{"KITH_BACKEND_URL": "http://" + s.backendAddr, "KITH_SERVICE_TOKEN": s.serviceToken}
	}
	done := runBriefly(t, t.TempDir(), environment(s.settings, own, map[string]string{
		"KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": "off", "KITH_SUNSET_MCP": sunset, "OTEL_TRACES_EXPORTER": "none", "KITH_LOG_LEVEL": "error",
	}), nil, command)
	checkOneSentence(t, done, "mcp", sunset, why)
}
