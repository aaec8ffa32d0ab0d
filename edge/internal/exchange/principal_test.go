package exchange_test

import (
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/exchange"
)

func TestPrincipal(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*exchange.Exchange{
		exchange.Anonymous: {Dead: true}, exchange.Demo: {Demo: true, Credential: "pat_0"},
		exchange.Credential: {Credential: "pat_1"}, "": {HandedOn: true},
	} {
		if got := e.Principal(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAwaitedIsAddedUp(t *testing.T) {
	t.Parallel()
	e := &exchange.Exchange{}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { e.Await(time.Millisecond) })
	}
	wait.Wait()
	if got := e.Awaited(); got != 20*time.Millisecond {
		t.Errorf("got %s", got)
	}
}
