package rpc_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// TestWrongArgumentsAtOnce: concurrent calls with the same wrong field are answered without
// a data race, although the validator shares what it says about a field.
func TestWrongArgumentsAtOnce(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.SQLite(t), time.Now)
	b := serve(t, s, time.Now)
	b.member = dbtest.Member(t, s, "maria")
	b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 10 {
				if got := b.call(t, get, `{"id":"Ana"}`); got.status != http.StatusBadRequest || got.code() != "invalid_argument" {
					t.Errorf("%d %s", got.status, got.text())
				}
			}
		})
	}
	calls.Wait()
}
