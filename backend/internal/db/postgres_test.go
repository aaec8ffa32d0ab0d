package db_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// If database/sql opens a connection for one caller and gives it to another, that caller sees only
// the rows of their own tenant.
func TestConnectionOpenedForAWaiter(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	s, err := db.Open(t.Context(), db.Config{URL: dbtest.Postgres(t), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	data := s.Tenant(dbtest.Member(t, s, "maria"), false)
	pool := s.Pools()["tenant"]

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wrote := make(chan error)
	err = data.Write(ctx, db.Actor{}, func(_ context.Context, tx *db.Tx) error {
		waiting := pool.Stats().WaitCount
		go func() {
			wrote <- data.Write(t.Context(), db.Actor{}, func(context.Context, *db.Tx) error { return nil })
		}()
		for pool.Stats().WaitCount == waiting && t.Context().Err() == nil {
			runtime.Gosched()
		}
		cancel() // which gives up the connection
		for {
			var one int
			if err := tx.NewRaw("SELECT 1").Scan(t.Context(), &one); err != nil {
				return err
			}
		}
	})
	if err == nil { // which error it is depends on the moment
		t.Error("a cancelled transaction was committed")
	}
	if err := <-wrote; err != nil {
		t.Errorf("on a new connection: %v", err)
	}
}
