package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// shell runs a line as a person would who copied it, and returns what it printed.
func shell(t *testing.T, line string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-c", line)
	command.Dir, command.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	done := runToEnd(t, command, "")
	if done.code != 0 || done.stderr != "" {
		t.Fatalf("%s\nexit code %d: %s", line, done.code, done.stderr)
	}
	return done.stdout
}

// TestPrintedLine: the line that kith prints when it is ready works as printed.
func TestPrintedLine(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		_, line, found := strings.Cut(s.front.stdout.String(), "Try it:\n")
		if !found || !strings.Contains(line, s.base) {
			t.Fatalf("nothing to try is printed:\n%s", s.front.stdout.String())
		}
		result := answer{body: shell(t, line)}.reply(t)
		var tool toolResult
		if err := json.Unmarshal(result.Result, &tool); err != nil || tool.IsError {
			t.Fatalf("the line answers %s (%v)", result.Result, err)
		}
		if hits := at[[]any](t, tool.Structured, "hits"); len(hits) == 0 {
			t.Error("the line finds nobody")
		}
	})
}

// TestPrintedAddresses: what is printed beside it answers, too.
func TestPrintedAddresses(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		out := s.front.stdout.String()
		for _, address := range []string{s.base + "/mcp/v1 ", s.base + "/mcp/sandbox ", s.base + "/sandbox)", s.base + "/api/network/members\n"} {
			if !strings.Contains(out, address) {
				t.Errorf("%q is not printed:\n%s", address, out)
			}
		}
		_, operators, _ := strings.Cut(out, "Operators")
		fields := strings.Fields(operators)
		if len(fields) == 0 {
			t.Fatal("no address for operators is printed")
		}
		for path, want := range map[string]string{"": "/metrics", "metrics": "kith_", "healthz": "ok", "readyz": "ready"} {
			res, err := browser.Get(fields[0] + path)
			if err != nil {
				t.Fatal(err)
			}
			if got := readAnswer(t, res); got.status != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%s%s: got %d %s", fields[0], path, got.status, shorten(got.body))
			}
		}
	})
}

// TestPrintedAddressesOfUnusualListeners: the system may choose the port, and the
// host may be left out.
func TestPrintedAddressesOfUnusualListeners(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"any port":               {"KITH_ADDR": "127.0.0.1:0", "KITH_ADMIN_ADDR": "off"},
		"any port for operators": {"KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": "127.0.0.1:0"},
		"no host for operators":  {"KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": freeAddress(t)[len("127.0.0.1"):]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings["KITH_DATABASE_URL"] = seededDatabase(t, onSQLite)
			p := startProgram(t, environment(settings), "serve")
			p.awaitReady()
			for _, address := range regexp.MustCompile(`http://[^ )]+`).FindAllString(strings.ReplaceAll(p.stdout.String(), "\n", " "), -1) {
				if u, err := url.Parse(address); err != nil || u.Hostname() == "" {
					t.Errorf("%s names no host", address)
				}
				res, err := browser.Get(address)
				if err != nil {
					t.Errorf("nobody listens at the printed address: %v", err)
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
	eachTopology(t, func(t *testing.T, s *service) {
		var index sandboxIndex
		got := s.send(t, http.MethodGet, "/sandbox", "")
		if err := json.Unmarshal([]byte(got.body), &index); err != nil || got.status != http.StatusOK {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if index.Object != "sandbox" || !index.Seeded || index.DemoAccount.Username != demo || len(index.Limits) == 0 || len(index.Try) < 3 {
			t.Errorf("the index is %s", got.body)
		}
		if profile := strings.TrimPrefix(index.DemoAccount.URL, s.base); s.send(t, http.MethodGet, profile, "").status != http.StatusOK {
			t.Errorf("there is nothing at %s", index.DemoAccount.URL)
		}
		for _, e := range index.Endpoints {
			path := strings.NewReplacer("{username}", demo, "{code}", "rate_limited").Replace(e.Path)
			body := request(t, "ping", nil)
			switch {
			case strings.HasSuffix(path, "/batch"):
				body = `{"requests":[{"id":"1","path":"/api/human/demo"}]}`
			case strings.HasSuffix(path, "/agent/identity"):
				body = `{"type":"anonymous"}`
			}
			if status := s.send(t, e.Method, path, body, jsonType).status; status != http.StatusOK {
				t.Errorf("%s %s: got %d", e.Method, path, status)
			}
		}
		for _, try := range index.Try {
			t.Run(try.Title, func(t *testing.T) {
				printed := shell(t, try.Curl)
				if strings.Contains(try.Curl, "text/markdown") {
					if !strings.HasPrefix(printed, "---\n") || !strings.Contains(printed, "\n# ") {
						t.Errorf("no Markdown: %s", shorten(printed))
					}
					return
				}
				var body map[string]any
				if err := json.Unmarshal([]byte(printed), &body); err != nil {
					t.Fatalf("no JSON: %s", printed)
				}
				if body["error"] != nil || body["code"] != nil || strings.Contains(printed, `"isError":true`) || len(printed) < 200 {
					t.Errorf("got %s", printed)
				}
				if hits, has := body["data"].([]any); has && len(hits) == 0 {
					t.Error("it finds nobody")
				}
				if strings.Contains(printed, `"hits":[]`) || strings.Contains(printed, `"entries":[]`) {
					t.Error("it finds nothing")
				}
			})
		}
	})
}

// TestSandboxOff: it can be switched off, and nothing of it is left.
func TestSandboxOff(t *testing.T) {
	t.Parallel()
	s := newService(t, onSQLite)
	s.databaseURL = newDatabase(t, onSQLite)
	s.settings["KITH_SANDBOX"] = "false"
	s.start()
	for _, path := range []string{"/sandbox", "/sandbox/api/human/" + demo, "/sandbox/api/network/members", "/api/human/" + demo} {
		if got := s.send(t, http.MethodGet, path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	for _, path := range []string{pathSandbox, pathSandboxOld} {
		if got := s.send(t, http.MethodPost, path, request(t, "ping", nil), jsonType); got.status != http.StatusNotFound {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	if strings.Contains(s.front.stdout.String(), "sandbox") {
		t.Errorf("it is printed all the same:\n%s", s.front.stdout.String())
	}
}
