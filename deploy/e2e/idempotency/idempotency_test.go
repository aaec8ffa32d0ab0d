// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestIdempotency

package idempotency

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestIdempotency tests at each endpoint which keys are valid, which request a key belongs to,
// and how a repeated request is answered.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := harness.NewService(t, way)
			s.LimitAll("100000/3600") // so that answers have rate-limit headers
			s.Settings["KITH_TRUSTED_PROXIES"] = "127.0.0.0/8"
			s.Start()
			ada := s.NewMember(t)
			a := ada.Agent(t)
			for name, check := range map[string]func(*testing.T, harness.IdempotentEndpoint){
				"no key": checkNoKeys, "a key": checkKeys, "another request": checkOtherRequests, "a replay": checkReplay,
				"in flight": checkInFlight, "the caller hangs up": checkHangUp,
			} {
				t.Run(name, func(t *testing.T) {
					for _, d := range doors(t, s, a) {
						t.Run(d.Path, func(t *testing.T) { check(t, d) })
					}
				})
			}
			t.Run("tool errors", func(t *testing.T) { checkKeptFailures(t, a) })
			t.Run("a read", func(t *testing.T) { checkKeptRead(t, a) })
			t.Run("credits", func(t *testing.T) { checkReplaysAreFree(t, a) })
			t.Run("methods without an effect", func(t *testing.T) { checkPureMethods(t, s, a) })
			t.Run("what is not stored", func(t *testing.T) { checkNotKept(t, ada) })
			t.Run("refusals", func(t *testing.T) { checkBoundRefusals(t, ada) })
			t.Run("other credentials", func(t *testing.T) { checkOtherCredentials(t, ada) })
			t.Run("revoked", func(t *testing.T) { checkRevoked(t, ada) })
			t.Run("addresses", func(t *testing.T) { checkBuckets(t, s, a) })
			t.Run("other paths", func(t *testing.T) { checkPathsWithoutKeys(t, s) })
		})
	}
}

// checkNoKeys sends invalid keys. The requests have no effect.
func checkNoKeys(t *testing.T, d harness.IdempotentEndpoint) {
	long := strings.Repeat("k", 256)
	for name, lines := range map[string][]string{
		"two lines":            {harness.KeyLine("a"), harness.KeyLine("b")},
		"one line twice":       {harness.KeyLine("a"), harness.KeyLine("a")},
		"two spellings":        {harness.KeyLine("a"), "IDEMPOTENCY-KEY: a"},
		"empty":                {"Idempotency-Key:"},
		"spaces":               {"Idempotency-Key:   "},
		"an empty second line": {harness.KeyLine("a"), "Idempotency-Key:"},
		"256 characters":       {harness.KeyLine(long)},
		"a tab":                {harness.KeyLine("a\tb")},
		"a control character":  {harness.KeyLine("a\x01b")},
		"DEL":                  {harness.KeyLine("a\x7fb")},
		"NUL":                  {harness.KeyLine("a\x00b")},
		"UTF-8":                {harness.KeyLine("schlüssel")},
		"Latin-1":              {harness.KeyLine("schl\xfcssel")},
		"an emoji":             {harness.KeyLine("🔑")},
	} {
		word := harness.NewWord()
		got := d.Send(t, d.MakeBody(word), lines...)
		if got.Status != http.StatusBadRequest || got.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: got %d %s", name, got.Status, got.Body)
		}
		// net/http refuses invalid headers before the service sees them.
		if got.Header.Get("X-Request-Id") != "" && !strings.Contains(got.Body, "Idempotency-Key") {
			t.Errorf("%s: the answer does not name the header: %s", name, got.Body)
		}
		if d.Path == harness.PathCurrent || d.Path == harness.PathDeprecated {
			if found := (d.Service.Agent(d.Path, d.Bearer)).Find(t, word); len(found) != 0 {
				t.Errorf("%s: the request took effect", name)
			}
		}
	}
}

// checkKeys sends valid keys, which must work unchanged.
func checkKeys(t *testing.T, d harness.IdempotentEndpoint) {
	word := harness.NewWord()
	for _, key := range []string{
		d.Path[len(d.Path)-1:], // one character; it differs for each path of the caller
		word + strings.Repeat("k", 255-len(word)), word + ", b", `"` + word + `"`, "a  " + word, word + "~!@#$%^&*()", strings.ToUpper(word), word,
	} {
		body := d.MakeBody(harness.NewWord())
		isKept(t, d, key, d.Send(t, body, harness.KeyLine(key)), false)
		isKept(t, d, key+" again", d.Send(t, body, "idempotency-key:"+key+" "), true)
	}
}

// checkOtherRequests: a key is refused with a request that differs in any byte.
func checkOtherRequests(t *testing.T, d harness.IdempotentEndpoint) {
	key, body := harness.KeyLine(harness.NewWord()), d.MakeBody(harness.NewWord())
	first := d.Send(t, body, key)
	isKept(t, d, "the first", first, false)
	others := map[string]harness.Response{
		"another body": d.Send(t, d.MakeBody(harness.NewWord()), key),
		"white space":  d.Send(t, body+" ", key),
		"another id":   d.Send(t, strings.Replace(body, `"id":1`, `"id":2`, 1)+"\n", key),
	}
	for _, other := range doors(t, d.Service, harness.Agent{Bearer: "whoever"}) {
		if other.Path != d.Path && (other.Bearer == "") == (d.Bearer == "") {
			other.Bearer = d.Bearer
			others["through "+other.Path] = other.Send(t, other.MakeBody(harness.NewWord()), key)
		}
	}
	for name, got := range others {
		harness.CheckSame(t, name, got.Head("Retry-After", "Idempotency-Replayed"), map[string]string{"status": "422", "Retry-After": "", "Idempotency-Replayed": ""})
		if !strings.Contains(got.Body, "Idempotency-Key") {
			t.Errorf("%s: got %s", name, got.Body)
		}
	}
	again := d.Send(t, body, key)
	isKept(t, d, "the first again", again, true)
	if again.Body != first.Body {
		t.Errorf("the first answer was %s, the second %s", first.Body, again.Body)
	}
}

// checkReplay: the status, the body and the headers about the body are replayed; headers
// about the request itself are new.
func checkReplay(t *testing.T, d harness.IdempotentEndpoint) {
	d.Send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // from here on the edge knows the credential and counts its requests
	key, body := harness.KeyLine(harness.NewWord()), d.MakeBody(harness.NewWord())
	first := d.Send(t, body, key, "Origin: "+d.Service.Base)
	isKept(t, d, "the first", first, false)
	again := d.Send(t, body, key, "Origin: "+d.Service.Base)
	isKept(t, d, "the second", again, true)
	if again.Body != first.Body {
		t.Errorf("the first answer was\n%s\nthe second\n%s", first.Body, again.Body)
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Cache-Control", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Deprecation", "Link"} {
		if fmt.Sprint(first.Header[name]) != fmt.Sprint(again.Header[name]) {
			t.Errorf("%s was %q and is %q", name, first.Header[name], again.Header[name])
		}
	}
	if again.Header.Get("Access-Control-Allow-Origin") == "" || again.Header.Get("X-Request-Id") == first.Header.Get("X-Request-Id") || again.Header.Get("Set-Cookie") != "" {
		t.Errorf("the headers are %v, the first were %v", again.Header, first.Header)
	}
	if left := remaining(t, again); left != remaining(t, first)-1 {
		t.Errorf("%d requests are left, after %d", left, remaining(t, first))
	}
	harness.Eventually(t, "a replay has another date", func() bool {
		again = d.Send(t, body, key)
		return again.Header.Get("Date") != first.Header.Get("Date")
	})
	isKept(t, d, "the last", again, true)
}

// remaining returns how many requests a rate policy has left, by the answer's headers.
func remaining(t *testing.T, got harness.Response) int {
	t.Helper()
	n, err := strconv.Atoi(got.Header.Get("Ratelimit-Remaining"))
	if err != nil {
		t.Errorf("no rate-limit header: %v", got.Header)
	}
	return n
}

// checkPathsWithoutKeys: other paths ignore the header, whatever its value.
func checkPathsWithoutKeys(t *testing.T, s *harness.Service) {
	for path, bodies := range map[string][2]string{
		"/api/batch":      {`{"requests":[{"id":"1","path":"/api/human/demo"}]}`, `{"requests":[{"id":"2","path":"/api/human/demo"}]}`},
		"/agent/identity": {`{"type":"anonymous"}`, `{"type":"anonymous" }`},
	} {
		d := harness.IdempotentEndpoint{Service: s, Path: path}
		for _, lines := range [][]string{{harness.KeyLine("k")}, {harness.KeyLine("k"), harness.KeyLine("l")}, {"Idempotency-Key:"}} {
			for _, body := range bodies {
				if got := d.Send(t, body, lines...); got.Status != http.StatusOK || got.Header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s with %q: got %d %v %s", path, lines, got.Status, got.Header, got.Body)
				}
			}
		}
	}
}
