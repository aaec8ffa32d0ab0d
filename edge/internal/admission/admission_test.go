package admission_test

import (
	"sync"
	"testing"

	"github.com/kith-crm/kith/edge/internal/admission"
)

func TestGateHoldsItsBound(t *testing.T) {
	t.Parallel()
	g := admission.New(10)
	var group sync.WaitGroup
	hold := make(chan struct{})
	admitted := make(chan bool, 100)
	for range 100 {
		group.Go(func() {
			ok := g.Enter()
			admitted <- ok
			if ok {
				<-hold
				g.Leave()
			}
		})
	}
	n := 0
	for range 100 {
		if <-admitted {
			n++
		}
	}
	if n != 10 || g.Inside() != 10 || g.Refused() != 90 {
		t.Errorf("admitted %d, inside %d, refused %d", n, g.Inside(), g.Refused())
	}
	close(hold)
	group.Wait()
	if g.Inside() != 0 || !g.Enter() {
		t.Error("the gate does not open again")
	}
}

func TestGateWithoutBound(t *testing.T) {
	t.Parallel()
	g := admission.New(0)
	for range 1000 {
		if !g.Enter() {
			t.Fatal("refused")
		}
	}
}
