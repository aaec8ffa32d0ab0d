package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestIdempotency: what a key is, what it stands for, and what becomes of the
// request that comes again with it. Each rule holds at each door.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			s.limitAll("100000/3600") // so that there is something to count
			s.settings["KITH_TRUSTED_PROXIES"] = "127.0.0.0/8"
			s.start()
			ada := s.newMember(t)
			a := ada.agent(t)
			for name, check := range map[string]func(*testing.T, door){
				"no key": checkNoKeys, "a key": checkKeys, "another request": checkOtherRequests, "a replay": checkReplay,
				"in flight": checkInFlight, "the caller hangs up": checkHangUp,
			} {
				t.Run(name, func(t *testing.T) {
					for _, d := range s.doors(t, a) {
						t.Run(d.path, func(t *testing.T) { check(t, d) })
					}
				})
			}
			t.Run("tool errors", func(t *testing.T) { checkKeptFailures(t, a) })
			t.Run("a read", func(t *testing.T) { checkKeptRead(t, a) })
			t.Run("credits", func(t *testing.T) { checkReplaysAreFree(t, a) })
			t.Run("methods that do nothing", func(t *testing.T) { checkPureMethods(t, s, a) })
			t.Run("what is not kept", func(t *testing.T) { checkNotKept(t, ada) })
			t.Run("other credentials", func(t *testing.T) { checkOtherCredentials(t, ada) })
			t.Run("revoked", func(t *testing.T) { checkRevoked(t, ada) })
			t.Run("addresses", func(t *testing.T) { checkBuckets(t, s, a) })
			t.Run("other paths", func(t *testing.T) { checkPathsWithoutKeys(t, s) })
		})
	}
}

// checkNoKeys sends what is no key. Nothing is done.
func checkNoKeys(t *testing.T, d door) {
	long := strings.Repeat("k", 256)
	for name, lines := range map[string][]string{
		"two lines":            {keyLine("a"), keyLine("b")},
		"one line twice":       {keyLine("a"), keyLine("a")},
		"two spellings":        {keyLine("a"), "IDEMPOTENCY-KEY: a"},
		"empty":                {"Idempotency-Key:"},
		"spaces":               {"Idempotency-Key:   "},
		"an empty second line": {keyLine("a"), "Idempotency-Key:"},
		"256 characters":       {keyLine(long)},
		"a tab":                {keyLine("a\tb")},
		"a control character":  {keyLine("a\x01b")},
		"DEL":                  {keyLine("a\x7fb")},
		"NUL":                  {keyLine("a\x00b")},
		"UTF-8":                {keyLine("schlüssel")},
		"Latin-1":              {keyLine("schl\xfcssel")},
		"an emoji":             {keyLine("🔑")},
	} {
		word := newWord()
		got := d.send(t, d.does(word), lines...)
		if got.status != http.StatusBadRequest || got.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
		// What HTTP itself does not allow never reaches the service.
		if got.header.Get("X-Request-Id") != "" && !strings.Contains(got.body, "Idempotency-Key") {
			t.Errorf("%s: the answer does not name the header: %s", name, got.body)
		}
		if d.path == pathCurrent || d.path == pathDeprecated {
			if found := (agent{d.service, d.path, d.bearer}).find(t, word); len(found) != 0 {
				t.Errorf("%s: it was done all the same", name)
			}
		}
	}
}

// checkKeys sends what is a key, as it is.
func checkKeys(t *testing.T, d door) {
	word := newWord()
	for _, key := range []string{
		d.path[len(d.path)-1:], // with which no other path of this caller ends
		word + strings.Repeat("k", 255-len(word)), word + ", b", `"` + word + `"`, "a  " + word, word + "~!@#$%^&*()", strings.ToUpper(word), word,
	} {
		body := d.does(newWord())
		d.isKept(t, key, d.send(t, body, keyLine(key)), false)
		d.isKept(t, key+" again", d.send(t, body, "idempotency-key:"+key+" "), true)
	}
}

// checkOtherRequests: a key stands for one request, byte for byte.
func checkOtherRequests(t *testing.T, d door) {
	key, body := keyLine(newWord()), d.does(newWord())
	first := d.send(t, body, key)
	d.isKept(t, "the first", first, false)
	others := map[string]answer{
		"another body": d.send(t, d.does(newWord()), key),
		"white space":  d.send(t, body+" ", key),
		"another id":   d.send(t, strings.Replace(body, `"id":1`, `"id":2`, 1)+"\n", key),
	}
	for _, other := range d.service.doors(t, agent{bearer: "whoever"}) {
		if other.path != d.path && (other.bearer == "") == (d.bearer == "") {
			other.bearer = d.bearer
			others["through "+other.path] = other.send(t, other.does(newWord()), key)
		}
	}
	for name, got := range others {
		if got.status != http.StatusUnprocessableEntity || got.header.Get("Retry-After") != "" || got.header.Get("Idempotency-Replayed") != "" || !strings.Contains(got.body, "Idempotency-Key") {
			t.Errorf("%s: got %d %v %s", name, got.status, got.header, got.body)
		}
	}
	again := d.send(t, body, key)
	d.isKept(t, "the first again", again, true)
	if again.body != first.body {
		t.Errorf("it was answered %s and is now %s", first.body, again.body)
	}
}

// checkReplay: status, body and what tells of the body are as they were; what
// tells of this very request is new.
func checkReplay(t *testing.T, d door) {
	d.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // from here on the credential is known, and counted
	key, body := keyLine(newWord()), d.does(newWord())
	first := d.send(t, body, key, "Origin: "+d.service.base)
	d.isKept(t, "the first", first, false)
	again := d.send(t, body, key, "Origin: "+d.service.base)
	d.isKept(t, "the second", again, true)
	if again.body != first.body {
		t.Errorf("it was answered\n%s\nand is now\n%s", first.body, again.body)
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Deprecation", "Link"} {
		if fmt.Sprint(first.header[name]) != fmt.Sprint(again.header[name]) {
			t.Errorf("%s was %q and is %q", name, first.header[name], again.header[name])
		}
	}
	if again.header.Get("Access-Control-Allow-Origin") == "" || again.header.Get("X-Request-Id") == first.header.Get("X-Request-Id") || again.header.Get("Set-Cookie") != "" {
		t.Errorf("the headers are %v, and were %v", again.header, first.header)
	}
	if left := remaining(t, again); left != remaining(t, first)-1 {
		t.Errorf("%d requests are left, and %d were", left, remaining(t, first))
	}
	eventually(t, "a replay has another date", func() bool {
		again = d.send(t, body, key)
		return again.header.Get("Date") != first.header.Get("Date")
	})
	d.isKept(t, "the last", again, true)
}

// remaining is what an answer says is left of a rate policy.
func remaining(t *testing.T, got answer) int {
	t.Helper()
	n, err := strconv.Atoi(got.header.Get("Ratelimit-Remaining"))
	if err != nil {
		t.Errorf("the rate limit is not told: %v", got.header)
	}
	return n
}

// checkPathsWithoutKeys: elsewhere the header means nothing, whatever it holds.
func checkPathsWithoutKeys(t *testing.T, s *service) {
	for path, bodies := range map[string][2]string{
		"/api/batch":      {`{"requests":[{"id":"1","path":"/api/human/demo"}]}`, `{"requests":[{"id":"2","path":"/api/human/demo"}]}`},
		"/agent/identity": {`{"type":"anonymous"}`, `{"type":"anonymous" }`},
	} {
		d := door{service: s, path: path}
		for _, lines := range [][]string{{keyLine("k")}, {keyLine("k"), keyLine("l")}, {"Idempotency-Key:"}} {
			for _, body := range bodies {
				if got := d.send(t, body, lines...); got.status != http.StatusOK || got.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s with %q: got %d %v %s", path, lines, got.status, got.header, got.body)
				}
			}
		}
	}
}
