// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run 'TestPrintedLine|TestPrintedAddresses|TestPrintedAddressesOfUnusualListeners|TestSandboxRequests|TestToolExamples|TestSandboxOff'

package publicapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPrintedLine: the command that kith prints when it is ready works as printed.
func TestPrintedLine(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		_, line, found := strings.Cut(s.Edge.Stdout.String(), "Try it:\n")
		if !found || !strings.Contains(line, s.Base) {
			t.Fatalf("no command to try is printed:\n%s", s.Edge.Stdout.String())
		}
		line, _, _ = strings.Cut(line, "\n\n") // what follows is for the first member
		result := harness.Response{Body: harness.RunShell(t, line)}.Reply(t)
		var tool harness.ToolResult
		if err := json.Unmarshal(result.Result, &tool); err != nil || tool.IsError {
			t.Fatalf("the line answers %s (%v)", result.Result, err)
		}
		if hits := harness.At[[]any](t, tool.Structured, "hits"); len(hits) == 0 {
			t.Error("the printed command finds no connections")
		}
	})
}

// TestPrintedAddresses: the printed addresses answer too.
func TestPrintedAddresses(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		out := s.Edge.Stdout.String()
		for _, address := range []string{s.Base + "/mcp/v1 ", s.Base + "/mcp/sandbox ", s.Base + "/sandbox)", s.Base + "/api/network/members\n"} {
			if !strings.Contains(out, address) {
				t.Errorf("%q is not printed:\n%s", address, out)
			}
		}
		_, operators, _ := strings.Cut(out, "Operators")
		fields := strings.Fields(operators)
		if len(fields) == 0 {
			t.Fatal("no admin address is printed")
		}
		for path, want := range map[string]string{"": "/metrics", "metrics": "kith_", "healthz": "ok", "readyz": "ready"} {
			res, err := harness.Client.Get(fields[0] + path)
			if err != nil {
				t.Fatal(err)
			}
			if got := harness.ReadResponse(t, res); got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
				t.Errorf("%s%s: got %d %s", fields[0], path, got.Status, harness.Shorten(got.Body))
			}
		}
	})
}

// TestPrintedAddressesOfUnusualListeners: printed addresses work when the system chooses the
// port and when the host is left out.
func TestPrintedAddressesOfUnusualListeners(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"any port":               {"KITH_ADDR": "127.0.0.1:0", "KITH_ADMIN_ADDR": "off"},
		"any port for operators": {"KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": "127.0.0.1:0"},
		"no host for operators":  {"KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": harness.FreeAddress(t)[len("127.0.0.1"):]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings["KITH_DATABASE_URL"] = harness.SeededDatabase(t, harness.SQLite)
			p := harness.StartProgram(t, harness.Environment(settings), "serve")
			p.AwaitReady()
			for _, address := range regexp.MustCompile(`http://[^ )]+`).FindAllString(strings.ReplaceAll(p.Stdout.String(), "\n", " "), -1) {
				if u, err := url.Parse(address); err != nil || u.Hostname() == "" {
					t.Errorf("%s has no host", address)
				}
				res, err := harness.Client.Get(address)
				if err != nil {
					t.Errorf("the printed address does not accept connections: %v", err)
					continue
				}
				_ = res.Body.Close()
			}
		})
	}
}

// sandboxIndex is GET /sandbox.
type sandboxIndex struct {
	Object      string
	Seeded      bool
	DemoAccount struct {
		Username, URL string
	} `json:"demo_account"`
	Endpoints []struct{ Method, Path string }
	Limits    map[string]any
	Try       []struct {
		Title, Method, Path, Curl string
		Body                      json.RawMessage
	}
}

// TestSandboxRequests: each request that GET /sandbox offers works as printed.
func TestSandboxRequests(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		var index sandboxIndex
		got := s.Send(t, http.MethodGet, "/sandbox", "")
		if err := json.Unmarshal([]byte(got.Body), &index); err != nil || got.Status != http.StatusOK {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		harness.CheckSame(t, "the index", []any{index.Object, index.Seeded, index.DemoAccount.Username}, []any{"sandbox", true, harness.Demo})
		if len(index.Limits) == 0 || len(index.Try) < 3 {
			t.Errorf("the index is %s", got.Body)
		}
		if profile := strings.TrimPrefix(index.DemoAccount.URL, s.Base); s.Send(t, http.MethodGet, profile, "").Status != http.StatusOK {
			t.Errorf("there is nothing at %s", index.DemoAccount.URL)
		}
		for _, e := range index.Endpoints {
			path := strings.NewReplacer("{username}", harness.Demo, "{code}", "rate_limited", "{name}", "add_note", "{guide}", "connect").Replace(e.Path)
			body := harness.Request(t, "ping", nil)
			switch {
			case strings.HasSuffix(path, "/batch"):
				body = `{"requests":[{"id":"1","path":"/api/human/demo"}]}`
			case strings.HasSuffix(path, "/agent/identity"):
				body = `{"type":"anonymous"}`
			}
			if status := s.Send(t, e.Method, path, body, harness.JSONType).Status; status != http.StatusOK {
				t.Errorf("%s %s: got %d", e.Method, path, status)
			}
		}
		for _, try := range index.Try {
			t.Run(try.Title, func(t *testing.T) {
				printed := harness.RunShell(t, try.Curl)
				if strings.Contains(try.Curl, "text/markdown") {
					if !strings.HasPrefix(printed, "---\n") || !strings.Contains(printed, "\n# ") {
						t.Errorf("not Markdown: %s", harness.Shorten(printed))
					}
					return
				}
				var body map[string]any
				if err := json.Unmarshal([]byte(printed), &body); err != nil {
					t.Fatalf("not JSON: %s", printed)
				}
				harness.CheckSame(t, "error and code", []any{body["error"], body["code"]}, []any{nil, nil})
				if strings.Contains(printed, `"isError":true`) || len(printed) < 200 {
					t.Errorf("got %s", printed)
				}
				if hits, has := body["data"].([]any); has && len(hits) == 0 {
					t.Error("no connections found")
				}
				if strings.Contains(printed, `"hits":[]`) || strings.Contains(printed, `"entries":[]`) {
					t.Error("empty result")
				}
			})
		}
	})
}

// TestToolExamples: the example of each tool that reads works on the demo account as printed, and that of each
// tool that writes is refused there only because it writes.
func TestToolExamples(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		names := regexp.MustCompile(`/docs/tools/([a-z_]+)`).FindAllStringSubmatch(s.Send(t, http.MethodGet, "/docs/tools", "", "Accept: text/markdown").Body, -1)
		if len(names) < 40 {
			t.Fatalf("%d tools", len(names))
		}
		for _, name := range names {
			page := s.Send(t, http.MethodGet, name[0], "", "Accept: text/markdown").Body
			line := regexp.MustCompile(`(?s)curl .*?\n` + "```").FindString(page)
			if strings.Contains(line, harness.PathSandbox) {
				printed := harness.RunShell(t, strings.TrimSuffix(line, "```"))
				if !strings.Contains(printed, `"isError":false`) || strings.Contains(printed, `"outcome":"none"`) {
					t.Errorf("%s answers %s", line, harness.Shorten(printed))
				}
				continue
			}
			message := regexp.MustCompile(`-d '(.*)'`).FindStringSubmatch(line)
			if message == nil {
				t.Errorf("%s has no example", name[0])
				continue
			}
			got := s.Send(t, http.MethodPost, harness.PathSandbox, message[1], harness.JSONType)
			if name[1] == "get_job" { // the demo account has no jobs
				harness.CheckSame(t, name[0], strings.Contains(got.Body, "there is no job"), true)
				continue
			}
			if r := got.Reply(t); r.Error == nil || r.Error.Data.Reason != "read_only_account" {
				t.Errorf("%s answers %s", line, got.Body)
			}
		}
	})
}

// TestSandboxOff: with the sandbox switched off, none of its paths answer.
func TestSandboxOff(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	s.DatabaseURL = harness.NewDatabase(t, harness.SQLite)
	s.Settings["KITH_SANDBOX"] = "false"
	s.Start()
	for _, path := range []string{"/sandbox", "/sandbox/api/human/" + harness.Demo, "/sandbox/api/network/members", "/api/human/" + harness.Demo} {
		if got := s.Send(t, http.MethodGet, path, ""); got.Status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got.Status)
		}
	}
	for _, path := range []string{harness.PathSandbox, harness.PathSandboxOld} {
		if got := s.Send(t, http.MethodPost, path, harness.Request(t, "ping", nil), harness.JSONType); got.Status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got.Status)
		}
	}
	if strings.Contains(s.Edge.Stdout.String(), "sandbox") {
		t.Errorf("the sandbox is printed although it is off:\n%s", s.Edge.Stdout.String())
	}
}
