package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// itemStatuses sends a raw batch and returns the statuses of its items.
func itemStatuses(t *testing.T, s *Server, body string) []int {
	t.Helper()
	r := raw(t, s, post("/api/batch", body))
	var answer struct{ Responses []struct{ Status int } }
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || r.status != http.StatusOK {
		t.Fatalf("%d %s %v", r.status, r.body, err)
	}
	var statuses []int
	for _, item := range answer.Responses {
		statuses = append(statuses, item.Status)
	}
	return statuses
}

// TestBadBatches sends bad batches, and requests with a forged sender.
func TestBadBatches(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, testConfig(backendtest.New())))
	item := func(id, path string) string { return fmt.Sprintf(`{"id":%q,"path":%q}`, id, path) }
	t.Run("batch of 0, of 21, not an array; repeated or 1 MB item id; query as an array are 400 or 413", func(t *testing.T) {
		t.Parallel()
		var many []string
		for i := range 21 {
			many = append(many, item(fmt.Sprint(i), "/api/human/amara"))
		}
		for name, body := range map[string]string{
			"0":             `{"requests":[]}`,
			"21":            `{"requests":[` + strings.Join(many, ",") + `]}`,
			"no array":      `{"requests":"x"}`,
			"an array":      `[` + many[0] + `]`,
			"repeated id":   `{"requests":[` + many[0] + `,` + many[0] + `]}`,
			"query":         `{"requests":[{"id":"1","path":"/api/network/members","query":["q"]}]}`,
			"PATH and path": `{"requests":[{"id":"1","path":"/api/human/amara","PATH":"/"}]}`,
			"duplicate key": `{"requests":[{"id":"1","path":"/api/human/amara","path":"/"}]}`,
		} {
			if r := raw(t, s, post("/api/batch", body)); r.status != 400 || !r.isProblem() {
				t.Errorf("%s: %d %s", name, r.status, r.body)
			}
		}
		if r := raw(t, s, post("/api/batch", `{"requests":[`+item(strings.Repeat("x", 1<<20), "/")+`]}`)); r.status != 413 {
			t.Errorf("1 MB id: %d", r.status)
		}
	})
	t.Run("a JSON string with escaped dots as a path is validated after decoding", func(t *testing.T) {
		t.Parallel()
		got := itemStatuses(t, s, `{"requests":[{"id":"1","path":"/api/human/\u002e\u002e"},{"id":"2","path":"/api/\u0068uman/amara"}]}`)
		if got[0] != 403 || got[1] != 200 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("items that are not batchable reads are refused with the allowlist", func(t *testing.T) {
		t.Parallel()
		body := `{"requests":[` + strings.Join([]string{
			item("1", "/api/batch"), item("2", "/mcp/v1"), item("3", "/oauth/token"), item("4", "http://169.254.169.254/"), item("5", "file:///"),
			item("6", `/\evil`), item("7", "/api/human/amara?x=1"), item("8", "/api/human/amara\r\n"), item("9", "/api/human/a\tb"),
			item("10", "/api/human/a b"),
		}, ",") + `]}`
		for i, status := range itemStatuses(t, s, body) {
			if status != 403 {
				t.Errorf("item %d: %d", i+1, status)
			}
		}
		if r := raw(t, s, post("/api/batch", body)); strings.Count(r.body, `"batchable":[`) != 10 {
			t.Errorf("not every refusal has the allowlist: %s", r.body)
		}
	})
	t.Run("X-Forwarded-For of an untrusted peer is ignored", func(t *testing.T) {
		t.Parallel()
		c := testConfig(backendtest.New())
		c.RateLimits["identity"] = "2/60"
		limited := start(t, newServer(t, c))
		var statuses []int
		for i := range 4 {
			r := raw(t, limited, post("/agent/identity", `{"type":"anonymous"}`, fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i)))
			statuses = append(statuses, r.status)
		}
		if fmt.Sprint(statuses) != "[200 200 429 429]" {
			t.Errorf("got %v", statuses)
		}
	})
}
