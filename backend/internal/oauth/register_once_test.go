package oauth_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// registerWithKey registers from an address with lines of Idempotency-Key.
func (a agent) registerWithKey(t testing.TB, address, body string, keys ...string) answer {
	t.Helper()
	r, err := a.request(t.Context(), http.MethodPost, oauth.PathRegister, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["Idempotency-Key"] = keys
	r.Header.Set("X-Address", address)
	got, err := send(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// addressed makes the authorization server read addresses from a header, as set by the
// edge.
func addressed() webtest.Options {
	return webtest.Options{Auth: func(c *oauth.Config) {
		c.ClientAddress = func(r *http.Request) string { return r.Header.Get("X-Address") }
	}}
}

const (
	oneClient = `{"redirect_uris":["https://a.example/cb"]}`
	here      = "192.0.2.1"
)

func TestRegistrationWithAKey(t *testing.T) {
	t.Parallel()
	webtest.Each(t, addressed(), func(t *testing.T, s *webtest.Site) {
		a := agent{site: s}
		first := a.registerWithKey(t, here, oneClient, "k")
		if first.Status != http.StatusCreated || first.Header.Get("Idempotency-Replayed") != "" {
			t.Fatalf("got %+v", first)
		}
		again := a.registerWithKey(t, here, oneClient, "k")
		if again.Status != http.StatusCreated || again.Header.Get("Idempotency-Replayed") != "true" ||
			again.Body != first.Body || again.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
			t.Errorf("%+v, then %+v", first, again)
		}
		for name, other := range map[string]answer{
			"another address": a.registerWithKey(t, "192.0.2.2", oneClient, "k"),
			"another key":     a.registerWithKey(t, here, oneClient, "K"),
			"no key":          a.register(t, "application/json", oneClient),
		} {
			if other.Status != http.StatusCreated || other.Body == first.Body || other.Header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: %+v", name, other)
			}
		}
		if got := a.registerWithKey(t, here, oneClient+" ", "k"); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, "invalid_request") {
			t.Errorf("another body: %+v", got)
		}
		s.Clock.Advance(24 * time.Hour)
		if got := a.registerWithKey(t, here, oneClient, "k"); got.Status != http.StatusCreated || got.Body == first.Body {
			t.Errorf("after a day: %+v", got)
		}
	})
}

// Every answer to metadata that is JSON binds the key to its body, a 400 too.
func TestEveryRegistrationBindsItsKey(t *testing.T) {
	t.Parallel()
	webtest.Each(t, addressed(), func(t *testing.T, s *webtest.Site) {
		a := agent{site: s}
		for name, c := range map[string]struct {
			body   string
			status int
			binds  bool
		}{
			"registered":          {oneClient, http.StatusCreated, true},
			"a bad redirect URI":  {`{"redirect_uris":["http://a.example/cb"]}`, http.StatusBadRequest, true},
			"no redirect URI":     {`{}`, http.StatusBadRequest, true},
			"an unknown scope":    {`{"redirect_uris":["https://a.example/cb"],"scope":"everything"}`, http.StatusBadRequest, true},
			"another type":        {`{"redirect_uris":7}`, http.StatusBadRequest, true},
			"a member twice":      {`{"redirect_uris":[],"redirect_uris":[]}`, http.StatusBadRequest, true},
			"no object":           {`[]`, http.StatusBadRequest, true},
			"not JSON":            {`{`, http.StatusBadRequest, false},
			"larger than allowed": {`{"client_name":"` + strings.Repeat("x", 64<<10) + `"}`, http.StatusBadRequest, false},
		} {
			first := a.registerWithKey(t, here, c.body, name)
			again := a.registerWithKey(t, here, c.body, name)
			other := a.registerWithKey(t, here, `{"redirect_uris":["https://other.example/cb"]}`, name)
			if first.Status != c.status || again.Status != c.status || again.Body != first.Body {
				t.Errorf("%s: %+v, then %+v", name, first, again)
			}
			wantReplayed, wantOther := "", http.StatusCreated
			if c.binds {
				wantReplayed, wantOther = "true", http.StatusUnprocessableEntity
			}
			if got := again.Header.Get("Idempotency-Replayed"); got != wantReplayed || other.Status != wantOther {
				t.Errorf("%s: replayed %q; another body got %+v", name, got, other)
			}
		}
	})
}

func TestRegistrationsWithOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, addressed(), func(t *testing.T, s *webtest.Site) {
		a := agent{site: s}
		answers := make([]answer, 40)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = a.registerWithKey(t, here, oneClient, "k") })
		}
		wg.Wait()
		var made []string
		for _, got := range answers {
			switch got.Status {
			case http.StatusCreated:
				made = append(made, got.Body)
			case http.StatusConflict:
				if got.Header.Get("Retry-After") != "1" {
					t.Errorf("got %+v", got)
				}
			default:
				t.Errorf("got %+v", got)
			}
		}
		slices.Sort(made)
		if len(slices.Compact(made)) != 1 {
			t.Errorf("%d clients were created", len(slices.Compact(made)))
		}
	})
}

func TestRegistrationWithAKeyInFlight(t *testing.T) {
	t.Parallel()
	webtest.Each(t, addressed(), func(t *testing.T, s *webtest.Site) {
		a := agent{site: s}
		key := idempotency.Key{Scope: idempotency.AddressScope(here), Name: "k"}
		release, err := s.Keys.ClaimKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.registerWithKey(t, here, oneClient, "k"); got.Status != http.StatusConflict || got.Header.Get("Retry-After") != "1" {
			t.Errorf("got %+v", got)
		}
		release()
		if got := a.registerWithKey(t, here, oneClient, "k"); got.Status != http.StatusCreated {
			t.Errorf("got %+v", got)
		}
	})
}

func TestRegistrationKeysThatAreNone(t *testing.T) {
	t.Parallel()
	webtest.Each(t, addressed(), func(t *testing.T, s *webtest.Site) {
		a := agent{site: s}
		for name, keys := range map[string][]string{
			"empty": {""}, "256 bytes": {strings.Repeat("k", 256)}, "UTF-8": {"schlüssel"}, "two lines": {"a", "b"},
		} {
			if got := a.registerWithKey(t, here, oneClient, keys...); got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "invalid_request") {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := a.registerWithKey(t, here, oneClient, strings.Repeat("k", 255)); got.Status != http.StatusCreated {
			t.Errorf("255 bytes: %+v", got)
		}
	})
}

// The client and its stored response are committed together or not at all.
func TestRegistrationWithAKeyIsOneTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		a := agent{site: webtest.Start(t, url, addressed())}
		clients := func() []string { return column(t, dbtest.OpenSQL(t, url), "SELECT id FROM clients") }
		mend := breakInserts(t, url, "idempotency_keys")
		wantOutage(t, a.registerWithKey(t, here, oneClient, "k"), true)
		if got := clients(); len(got) > 0 {
			t.Errorf("%v exists without its response", got)
		}
		mend()
		got := a.registerWithKey(t, here, oneClient, "k")
		if got.Status != http.StatusCreated || got.Header.Get("Idempotency-Replayed") != "" || !slices.Equal(clients(), []string{got.ClientID}) {
			t.Errorf("%+v, %v", got, clients())
		}
	})
}

// When the responses to all addresses take too much space, the oldest of the address that has the most
// go: a registration with a key by another address is stored and repeated, as are earlier ones.
func TestRegistrationWithAKeyMakesRoom(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := webtest.Start(t, url, addressed())
		a := agent{site: s}
		first := a.registerWithKey(t, here, oneClient, "kept")
		q := dbtest.OpenSQL(t, url)
		full := "zeroblob(134217728)"
		if db.IsPostgres(url) {
			full = "convert_to(repeat('x', 134217728), 'UTF8')"
		}
		if _, err := q.ExecContext(t.Context(), `INSERT INTO idempotency_keys (scope, key, fingerprint, answer, expires_at)
SELECT 'address:elsewhere', 'k', '', `+full+`, expires_at FROM idempotency_keys`); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(10 * time.Minute) // the total is measured again
		for _, replayed := range []string{"", "true"} {
			got := a.registerWithKey(t, here, oneClient, "k")
			if got.Status != http.StatusCreated || got.Header.Get("Idempotency-Replayed") != replayed {
				t.Errorf("with a key: %+v", got)
			}
		}
		var clients, large int
		err := q.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM clients), (SELECT count(*) FROM idempotency_keys WHERE scope = 'address:elsewhere')").Scan(&clients, &large)
		if err != nil || clients != 2 || large != 0 {
			t.Errorf("%d clients, %d large responses, %v", clients, large, err)
		}
		if got := a.registerWithKey(t, here, oneClient, "kept"); got.Status != http.StatusCreated || got.Body != first.Body {
			t.Errorf("again: %+v", got)
		}
	})
}
