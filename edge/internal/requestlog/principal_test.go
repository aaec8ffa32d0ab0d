package requestlog_test

import (
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/requestlog"
)

func TestPrincipal(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*requestlog.Event{
		requestlog.Anonymous: {Dead: true}, requestlog.Demo: {Demo: true, Credential: "pat_0"},
		requestlog.Credential: {Credential: "pat_1"}, "": {Proxied: true},
	} {
		if got := e.Principal(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAwaitedIsAddedUp(t *testing.T) {
	t.Parallel()
	e := &requestlog.Event{}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { e.Await(time.Millisecond) })
	}
	wait.Wait()
	if got := e.Awaited(); got != 20*time.Millisecond {
		t.Errorf("got %s", got)
	}
}
