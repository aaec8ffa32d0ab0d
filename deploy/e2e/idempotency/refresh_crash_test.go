// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestRefreshesThroughCrashes

package idempotency

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// refresh exchanges a grant's refresh token, with one key for as many attempts as it takes.
func (r *crashRound) refresh(ctx context.Context, base string, g *harness.Grant) error {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Tokens.Refresh}, "client_id": {g.ClientID}}.Encode()
	for key := rand.Text(); ; {
		r.down.RLock()
		r.down.RUnlock() //nolint:staticcheck // the critical section is empty: this only waits
		next, replayed, err := r.requestTokens(ctx, base, key, form)
		if why, tryAgain := errors.AsType[errAgain](err); tryAgain && ctx.Err() == nil {
			r.count(string(why))
			continue
		}
		if err != nil {
			return err
		}
		if replayed {
			r.count("answer repeated")
		}
		harness.Secrets.Keep("access token", next.Access)
		harness.Secrets.Keep("refresh token", next.Refresh)
		g.Tokens = next
		return nil
	}
}

func (r *crashRound) count(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again[why]++
}

// requestTokens sends a token request once.
func (r *crashRound) requestTokens(ctx context.Context, base, key, form string) (next harness.TokenPair, replayed bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/oauth/token", strings.NewReader(form))
	if err != nil {
		return next, false, err
	}
	req.Header.Set("Content-Type", harness.FormType)
	req.Header.Set("Idempotency-Key", key)
	res, err := r.client.Do(req)
	if err != nil {
		return next, false, errAgain("no answer")
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return next, false, errAgain("incomplete answer")
	}
	switch res.StatusCode {
	case http.StatusOK:
		return next, res.Header.Get("Idempotency-Replayed") == "true", json.Unmarshal(text, &next)
	case http.StatusServiceUnavailable:
		return next, false, errAgain(res.Status)
	default:
		return next, false, fmt.Errorf("got %d %s", res.StatusCode, text)
	}
}

// TestRefreshesThroughCrashes: a client that sends each refresh with a key until it is answered
// keeps its access, however often the service is killed.
func TestRefreshesThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		for name, die := range deaths(way) {
			t.Run(way.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := harness.NewService(t, way)
				s.Settings["KITH_SANDBOX"] = "false" // seeding it slows down each start
				s.Settings["KITH_RATE_OAUTH_TOKEN"] = "off"
				s.Start()
				checkRefreshes(t, s, die)
			})
		}
	}
}

func checkRefreshes(t *testing.T, s *harness.Service, die func(*harness.Service)) {
	t.Helper()
	const chains, refreshes, kills = 8, 60, 4
	transport := &http.Transport{MaxIdleConnsPerHost: chains}
	t.Cleanup(transport.CloseIdleConnections)
	r := &crashRound{client: &http.Client{Transport: transport, Timeout: harness.Timeout}, again: map[string]int{}}
	person := s.NewPerson(t)
	var grants []*harness.Grant
	for range chains {
		grants = append(grants, s.NewGrant(t, person, "account"))
	}
	var work sync.WaitGroup
	for _, g := range grants {
		work.Go(func() {
			for range refreshes {
				if err := r.refresh(t.Context(), s.Base, g); err != nil {
					t.Error(err)
				}
				r.done.Add(1)
			}
		})
	}
	if n := r.crash(t, chains*refreshes, func() { die(s) }); n < kills {
		t.Errorf("the service was killed %d times", n)
	} else {
		t.Logf("%d kills; sent again: %v", n, r.again)
	}
	work.Wait()
	for _, g := range grants {
		g.Refresh(t, "")
		g.Agent().Call(t, "get_account", harness.Arguments{})
	}
}
