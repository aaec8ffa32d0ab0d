package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// keyed runs a tool with a key.
func (a agent) keyed(t *testing.T, key, body string) answer {
	t.Helper()
	return a.post(t, body, keyLine(key))
}

// isReplay wants an answer again, or not.
func isReplay(t *testing.T, what string, got answer, want bool) {
	t.Helper()
	if replayed := got.header.Get("Idempotency-Replayed") == "true"; got.status != http.StatusOK || replayed != want {
		t.Errorf("%s: got %d, replayed %v, want %v: %s", what, got.status, replayed, want, excerpt(got.body))
	}
}

// checkKeptFailures: a tool that failed in its own way is kept like one that did
// well, and stays so when the reason is gone.
func checkKeptFailures(t *testing.T, a agent) {
	email := newWord() + "@example.com"
	id := a.create(t, arguments{"name": "In The Way", "emails": []string{email}})
	for name, body := range map[string]string{
		"on file already":  toolCall(t, "create_connection", arguments{"name": "In The Way", "emails": []string{email}, "on_duplicate": "error"}),
		"not there":        toolCall(t, "get_connection", arguments{"id": "con_00000000000000000000000000"}),
		"a stale version":  toolCall(t, "update_connection", arguments{"id": id, "expected_version": 7, "nickname": "Stale"}),
		"not there either": toolCall(t, "add_note", arguments{"connection_ids": []string{"con_00000000000000000000000000"}, "body": "x"}),
	} {
		key := newWord()
		first := a.keyed(t, key, body)
		isReplay(t, name, first, false)
		if !strings.Contains(first.body, `"isError":true`) {
			t.Fatalf("%s: it did not fail: %s", name, first.body)
		}
		if name == "on file already" {
			a.call(t, "update_connection", arguments{"id": id, "remove_emails": []string{email}})
		}
		again := a.keyed(t, key, body)
		isReplay(t, name+", again", again, true)
		if again.body != first.body {
			t.Errorf("%s: it was answered %s and is now %s", name, first.body, again.body)
		}
	}
}

// checkKeptRead: a read with a key is answered as it was, too, whatever happened
// since; another key reads anew.
func checkKeptRead(t *testing.T, a agent) {
	id := a.create(t, arguments{"name": "Before " + newWord()})
	key, body := newWord(), toolCall(t, "get_connection", arguments{"id": id})
	first := a.keyed(t, key, body)
	isReplay(t, "the first", first, false)
	a.call(t, "update_connection", arguments{"id": id, "name": "After " + newWord()})
	again := a.keyed(t, key, body)
	isReplay(t, "the second", again, true)
	if again.body != first.body {
		t.Errorf("it was answered %s and is now %s", first.body, again.body)
	}
	if got := a.keyed(t, newWord(), body); !strings.Contains(got.body, `"After `) {
		t.Errorf("another key reads %s", got.body)
	}
}

// checkReplaysAreFree: credits are taken for the first, and for nothing after it.
func checkReplaysAreFree(t *testing.T, a agent) {
	used := func() float64 {
		return at[float64](t, a.call(t, "get_account", arguments{}), "credits", "used")
	}
	key, body := newWord(), toolCall(t, "create_connection", arguments{"name": newWord()})
	before := used()
	a.keyed(t, key, body)
	if after := used(); after != before+2 {
		t.Errorf("the first cost %v", after-before)
	}
	for range 3 {
		isReplay(t, "again", a.keyed(t, key, body), true)
		a.keyed(t, key, body+" ") // 422
	}
	if after := used(); after != before+2 {
		t.Errorf("all together cost %v", after-before)
	}
}

// checkPureMethods: what does nothing is done each time; its key has to be one all
// the same.
func checkPureMethods(t *testing.T, s *service, a agent) {
	key := keyLine(newWord())
	for _, d := range s.doors(t, a) {
		if d.path == pathRegister {
			continue
		}
		for name, body := range messages(t) {
			if strings.HasSuffix(name, "call") {
				continue
			}
			for _, text := range []string{body, body, body + " "} {
				if got := d.send(t, text, key); got.status >= http.StatusBadRequest || got.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: %s: got %d %v %s", d.path, name, got.status, got.header, got.body)
				}
			}
			for _, lines := range [][]string{{"Idempotency-Key:"}, {key, key}, {key + "\tx"}} {
				if got := d.send(t, body, lines...); got.status != http.StatusBadRequest {
					t.Errorf("%s: %s with %q: got %d %s", d.path, name, lines, got.status, got.body)
				}
			}
		}
	}
}

// checkNotKept: what was refused before it was done leaves its key for another
// request, even for another body.
func checkNotKept(t *testing.T, ada *member) {
	s := ada.service
	a := ada.agent(t)
	reader := agent{s, pathCurrent, ada.token(t, "connections").bearer}
	search := toolCall(t, "search_connections", arguments{"query": "x"})
	create := toolCall(t, "create_connection", arguments{"name": "Never Made"})
	for name, test := range map[string]struct {
		caller  agent
		body    string
		headers []string
		status  int
	}{
		"400, no JSON":             {a, "{", nil, http.StatusBadRequest},
		"400, a batch":             {a, "[]", nil, http.StatusBadRequest},
		"400, a version":           {a, search, []string{"MCP-Protocol-Version: 1999-01-01"}, http.StatusBadRequest},
		"401":                      {agent{s, pathCurrent, ""}, search, nil, http.StatusUnauthorized},
		"403":                      {a, search, []string{"Origin: https://evil.example"}, http.StatusForbidden},
		"413":                      {a, padded(maxBody + 1), nil, http.StatusRequestEntityTooLarge},
		"415":                      {a, search, []string{"Content-Encoding: gzip"}, http.StatusUnsupportedMediaType},
		"an unknown method":        {a, request(t, "no/such/method", nil), nil, http.StatusOK},
		"an unknown tool":          {a, toolCall(t, "no_such_tool", arguments{}), nil, http.StatusOK},
		"arguments that are none":  {a, toolCall(t, "get_account", []int{1}), nil, http.StatusOK},
		"arguments that are wrong": {a, toolCall(t, "search_connections", arguments{"query": ""}), nil, http.StatusOK},
		"a write, wrong arguments": {a, toolCall(t, "create_connection", arguments{"nam": "X"}), nil, http.StatusOK},
		"-32001":                   {reader, create, nil, http.StatusOK},
		"-32001 in the sandbox":    {agent{s, pathSandbox, ""}, create, nil, http.StatusOK},
		"-32001 of the other path": {agent{s, pathSandboxOld, ""}, create, nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			key := newWord()
			for range 2 {
				got := test.caller.post(t, test.body, append(test.headers, keyLine(key))...)
				if got.status != test.status || got.header.Get("Idempotency-Replayed") != "" {
					t.Fatalf("got %d %v %s", got.status, got.header, got.body)
				}
			}
			caller := test.caller
			if caller.bearer == "" && caller.path == pathCurrent {
				caller = a
			}
			isReplay(t, "a good request", caller.keyed(t, key, search), false)
			isReplay(t, "and again", caller.keyed(t, key, search), true)
		})
	}
	if found := a.find(t, "Never Made"); len(found) != 0 {
		t.Errorf("what was refused was done: %v", found)
	}
}

// checkOtherCredentials: a key is its sender's. Another token of the same member
// starts anew with it, and so does another member.
func checkOtherCredentials(t *testing.T, ada *member) {
	first := ada.agent(t)
	key, name := newWord(), newWord()
	body := toolCall(t, "create_connection", arguments{"name": name, "on_duplicate": "create"})
	answered := first.keyed(t, key, body)
	isReplay(t, "the first", answered, false)
	for whose, other := range map[string]agent{"the member's other token": ada.agent(t), "another member's": ada.service.newMember(t).agent(t)} {
		got := other.keyed(t, key, body)
		isReplay(t, whose, got, false)
		if got.body == answered.body {
			t.Errorf("%s shows the answer of the first: %s", whose, got.body)
		}
		isReplay(t, whose+", another body", other.keyed(t, newWord(), toolCall(t, "get_account", arguments{})), false)
	}
	if found := first.find(t, name); len(found) != 2 {
		t.Errorf("the member has %d of them, not one by each token", len(found))
	}
}

// checkRevoked: whoever may not call any more is not told what was answered.
func checkRevoked(t *testing.T, ada *member) {
	token := ada.token(t)
	a := agent{ada.service, pathCurrent, token.bearer}
	key, body := newWord(), toolCall(t, "create_connection", arguments{"name": newWord()})
	isReplay(t, "the first", a.keyed(t, key, body), false)
	isReplay(t, "alive", a.keyed(t, key, body), true)
	ada.revoke(t, token)
	checkChallenge(t, a, body, invalidToken, keyLine(key))
}

// checkBuckets: a caller without a credential is known by its address, of which
// the second half does not count in IPv6. A credential is the same from anywhere.
func checkBuckets(t *testing.T, s *service, a agent) {
	from := func(address string) string { return "X-Forwarded-For: " + address }
	for _, d := range s.doors(t, a) {
		anonymous := d.bearer == ""
		for _, test := range []struct {
			one, other string
			same       bool
		}{
			{"192.0.2.1", "192.0.2.2", false},
			{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
			{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
			{"192.0.2.1", "::ffff:192.0.2.1", true},
		} {
			key, body := keyLine(newWord()), d.does(newWord())
			first := d.send(t, body, key, from(test.one))
			d.isKept(t, "from "+test.one, first, false)
			got := d.send(t, body, key, from(test.other))
			d.isKept(t, "from "+test.other, got, test.same || !anonymous)
			d.isKept(t, "again from "+test.one, d.send(t, body, key, from(test.one)), true)
			if d.path == pathRegister && (got.body == first.body) != test.same {
				t.Errorf("%s and %s: got %s and %s", test.one, test.other, first.body, got.body)
			}
		}
	}
}
