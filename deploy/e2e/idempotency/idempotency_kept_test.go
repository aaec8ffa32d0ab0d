package idempotency

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkKeptFailures: a tool error is stored like a success, and is replayed even when its
// cause is gone.
func checkKeptFailures(t *testing.T, a harness.Agent) {
	email := harness.NewWord() + "@example.com"
	id := a.Create(t, harness.Arguments{"name": "In The Way", "emails": []string{email}})
	for name, body := range map[string]string{
		"exists already":           harness.ToolCall(t, "create_connection", harness.Arguments{"name": "In The Way", "emails": []string{email}, "on_duplicate": "error"}),
		"unknown id":               harness.ToolCall(t, "get_connection", harness.Arguments{"id": "con_ch541ck879"}),
		"a stale version":          harness.ToolCall(t, "update_connection", harness.Arguments{"id": id, "expected_version": 7, "nickname": "Stale"}),
		"a note on an unknown one": harness.ToolCall(t, "add_note", harness.Arguments{"connection_ids": []string{"con_ch541ck879"}, "body": "x"}),
	} {
		key := harness.NewWord()
		first := a.WithKey(t, key, body)
		harness.CheckReplay(t, name, first, false)
		if !strings.Contains(first.Body, `"isError":true`) {
			t.Fatalf("%s: it did not fail: %s", name, first.Body)
		}
		if name == "exists already" {
			a.Call(t, "update_connection", harness.Arguments{"id": id, "remove_emails": []string{email}})
		}
		again := a.WithKey(t, key, body)
		harness.CheckReplay(t, name+", again", again, true)
		if again.Body != first.Body {
			t.Errorf("%s: the first answer was %s, the second %s", name, first.Body, again.Body)
		}
	}
}

// checkKeptRead: a read with a key is replayed too, even after a change; another key reads
// the current data.
func checkKeptRead(t *testing.T, a harness.Agent) {
	id := a.Create(t, harness.Arguments{"name": "Before " + harness.NewWord()})
	key, body := harness.NewWord(), harness.ToolCall(t, "get_connection", harness.Arguments{"id": id})
	first := a.WithKey(t, key, body)
	harness.CheckReplay(t, "the first", first, false)
	a.Call(t, "update_connection", harness.Arguments{"id": id, "name": "After " + harness.NewWord()})
	again := a.WithKey(t, key, body)
	harness.CheckReplay(t, "the second", again, true)
	if again.Body != first.Body {
		t.Errorf("the first answer was %s, the second %s", first.Body, again.Body)
	}
	if got := a.WithKey(t, harness.NewWord(), body); !strings.Contains(got.Body, `"After `) {
		t.Errorf("another key reads %s", got.Body)
	}
}

// checkReplaysAreFree: only the first request costs credits.
func checkReplaysAreFree(t *testing.T, a harness.Agent) {
	used := func() float64 {
		return harness.At[float64](t, a.Call(t, "get_account", harness.Arguments{}), "credits", "used")
	}
	key, body := harness.NewWord(), harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
	before := used()
	a.WithKey(t, key, body)
	if after := used(); after != before+2 {
		t.Errorf("the first cost %v", after-before)
	}
	for range 3 {
		harness.CheckReplay(t, "again", a.WithKey(t, key, body), true)
		a.WithKey(t, key, body+" ") // 422
	}
	if after := used(); after != before+2 {
		t.Errorf("all together cost %v", after-before)
	}
}

// checkPureMethods: methods without an effect run every time, but their key must be
// valid.
func checkPureMethods(t *testing.T, s *harness.Service, a harness.Agent) {
	key := harness.KeyLine(harness.NewWord())
	for _, d := range doors(t, s, a) {
		if d.Path == harness.PathRegister {
			continue
		}
		for name, body := range harness.Messages(t) {
			if strings.HasSuffix(name, "call") {
				continue
			}
			for _, text := range []string{body, body, body + " "} {
				if got := d.Send(t, text, key); got.Status >= http.StatusBadRequest || got.Header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: %s: got %d %v %s", d.Path, name, got.Status, got.Header, got.Body)
				}
			}
			for _, lines := range [][]string{{"Idempotency-Key:"}, {key, key}, {key + "\tx"}} {
				if got := d.Send(t, body, lines...); got.Status != http.StatusBadRequest {
					t.Errorf("%s: %s with %q: got %d %s", d.Path, name, lines, got.Status, got.Body)
				}
			}
		}
	}
}

// checkNotKept: a request that is refused before it is parsed, or without a valid credential, leaves
// its key free for another request, even with another body.
func checkNotKept(t *testing.T, ada *harness.Member) {
	s := ada.Service
	a := ada.Agent(t)
	search := harness.ToolCall(t, "search_connections", harness.Arguments{"query": "x"})
	for name, test := range map[string]struct {
		caller  harness.Agent
		body    string
		headers []string
		status  int
	}{
		"400, not JSON":     {a, "{", nil, http.StatusBadRequest},
		"400, a batch":      {a, "[]", nil, http.StatusBadRequest},
		"400, a version":    {a, search, []string{"MCP-Protocol-Version: 1999-01-01"}, http.StatusBadRequest},
		"401":               {s.Agent(harness.PathCurrent, ""), search, nil, http.StatusUnauthorized},
		"403":               {a, search, []string{"Origin: https://evil.example"}, http.StatusForbidden},
		"413":               {a, harness.Padded(harness.MaxBody + 1), nil, http.StatusRequestEntityTooLarge},
		"415":               {a, search, []string{"Content-Encoding: gzip"}, http.StatusUnsupportedMediaType},
		"an unknown method": {a, harness.Request(t, "no/such/method", nil), nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			key := harness.NewWord()
			for range 2 {
				got := test.caller.Post(t, test.body, append(test.headers, harness.KeyLine(key))...)
				if got.Status != test.status || got.Header.Get("Idempotency-Replayed") != "" {
					t.Fatalf("got %d %v %s", got.Status, got.Header, got.Body)
				}
			}
			caller := test.caller
			if caller.Bearer == "" && caller.Path == harness.PathCurrent {
				caller = a
			}
			harness.CheckReplay(t, "a good request", caller.WithKey(t, key, search), false)
			harness.CheckReplay(t, "and again", caller.WithKey(t, key, search), true)
		})
	}
}

// checkBoundRefusals: a request that is refused after it was parsed binds its key to its body.
func checkBoundRefusals(t *testing.T, ada *harness.Member) {
	s := ada.Service
	a := ada.Agent(t)
	reader := s.Agent(harness.PathCurrent, ada.Token(t, "connections").Bearer)
	search := harness.ToolCall(t, "search_connections", harness.Arguments{"query": "x"})
	create := harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Never Made"})
	for name, test := range map[string]struct {
		caller  harness.Agent
		body    string
		headers []string
	}{
		"an unknown tool":                {a, harness.ToolCall(t, "no_such_tool", harness.Arguments{}), nil},
		"an unknown tool in the sandbox": {s.Agent(harness.PathSandbox, ""), harness.ToolCall(t, "no_such_tool", harness.Arguments{}), nil},
		"arguments as an array":          {a, harness.ToolCall(t, "get_account", []int{1}), nil},
		"invalid arguments":              {a, harness.ToolCall(t, "search_connections", harness.Arguments{"query": ""}), nil},
		"a write, invalid arguments":     {a, harness.ToolCall(t, "create_connection", harness.Arguments{"nam": "X"}), nil},
		"-32001":                         {reader, create, nil},
		"-32001 by a header":             {a, create, []string{"X-MCP-Readonly: true"}},
		"-32001 in the sandbox":          {s.Agent(harness.PathSandbox, ""), create, nil},
		"-32001 of the other path":       {s.Agent(harness.PathSandboxOld, ""), create, nil},
	} {
		t.Run(name, func(t *testing.T) {
			key := harness.NewWord()
			first := test.caller.Post(t, test.body, append(test.headers, harness.KeyLine(key))...)
			harness.CheckReplay(t, "the first", first, false)
			again := test.caller.WithKey(t, key, test.body)
			harness.CheckReplay(t, "the same body", again, true)
			if again.Body != first.Body || !strings.Contains(first.Body, `"error":`) && !strings.Contains(first.Body, `"isError":true`) {
				t.Errorf("the first answer was %s, the second %s", first.Body, again.Body)
			}
			if got := test.caller.WithKey(t, key, search); got.Status != http.StatusUnprocessableEntity {
				t.Errorf("another body: got %d %s", got.Status, got.Body)
			}
		})
	}
	if found := a.Find(t, "Never Made"); len(found) != 0 {
		t.Errorf("a refused request took effect: %v", found)
	}
}

// checkOtherCredentials: a key belongs to its credential. For another token of the same
// member, and for another member, the same key is new.
func checkOtherCredentials(t *testing.T, ada *harness.Member) {
	first := ada.Agent(t)
	key, name := harness.NewWord(), harness.NewWord()
	body := harness.ToolCall(t, "create_connection", harness.Arguments{"name": name, "on_duplicate": "create"})
	answered := first.WithKey(t, key, body)
	harness.CheckReplay(t, "the first", answered, false)
	for whose, other := range map[string]harness.Agent{"the member's other token": ada.Agent(t), "another member's": ada.Service.NewMember(t).Agent(t)} {
		got := other.WithKey(t, key, body)
		harness.CheckReplay(t, whose, got, false)
		if got.Body == answered.Body {
			t.Errorf("%s shows the answer of the first: %s", whose, got.Body)
		}
		harness.CheckReplay(t, whose+", another body", other.WithKey(t, harness.NewWord(), harness.ToolCall(t, "get_account", harness.Arguments{})), false)
	}
	if found := first.Find(t, name); len(found) != 2 {
		t.Errorf("the member has %d connections of the name, want one from each token", len(found))
	}
}

// checkRevoked: a revoked credential does not get the stored answer.
func checkRevoked(t *testing.T, ada *harness.Member) {
	token := ada.Token(t)
	a := ada.Service.Agent(harness.PathCurrent, token.Bearer)
	key, body := harness.NewWord(), harness.ToolCall(t, "create_connection", harness.Arguments{"name": harness.NewWord()})
	harness.CheckReplay(t, "the first", a.WithKey(t, key, body), false)
	harness.CheckReplay(t, "alive", a.WithKey(t, key, body), true)
	ada.Revoke(t, token)
	harness.CheckChallenge(t, a, body, harness.InvalidToken, harness.KeyLine(key))
}

// checkBuckets: a caller without a credential is identified by its IPv4 address or by the /64
// prefix of its IPv6 address. With a credential the address does not matter.
func checkBuckets(t *testing.T, s *harness.Service, a harness.Agent) {
	from := func(address string) string { return "X-Forwarded-For: " + address }
	for _, d := range doors(t, s, a) {
		anonymous := d.Bearer == ""
		for _, test := range []struct {
			one, other string
			same       bool
		}{
			{"192.0.2.1", "192.0.2.2", false},
			{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
			{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
			{"192.0.2.1", "::ffff:192.0.2.1", true},
		} {
			key, body := harness.KeyLine(harness.NewWord()), d.MakeBody(harness.NewWord())
			first := d.Send(t, body, key, from(test.one))
			isKept(t, d, "from "+test.one, first, false)
			got := d.Send(t, body, key, from(test.other))
			isKept(t, d, "from "+test.other, got, test.same || !anonymous)
			isKept(t, d, "again from "+test.one, d.Send(t, body, key, from(test.one)), true)
			if d.Path == harness.PathRegister && (got.Body == first.Body) != test.same {
				t.Errorf("%s and %s: got %s and %s", test.one, test.other, first.Body, got.Body)
			}
		}
	}
}
