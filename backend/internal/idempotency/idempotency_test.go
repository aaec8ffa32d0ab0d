package idempotency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"": false, "k": true, " ": true, "~": true, "\x1f": false, "\x7f": false, "é": false, "a\nb": false,
		strings.Repeat("k", 255): true, strings.Repeat("k", 256): false,
	} {
		if idempotency.Valid(name) != want {
			t.Errorf("Valid(%q) = %v", name, !want)
		}
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	var r idempotency.Registry
	one := idempotency.Key{Scope: "a", Name: "k"}
	release, err := r.Claim(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Claim(one); !fault.Is(err, fault.InFlight) {
		t.Errorf("a second time: %v", err)
	}
	for _, other := range []idempotency.Key{{Scope: "a", Name: "K"}, {Scope: "b", Name: "k"}} {
		if _, err := r.Claim(other); err != nil {
			t.Errorf("%+v: %v", other, err)
		}
	}
	release()
	if _, err := r.Claim(one); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

func TestCounter(t *testing.T) {
	t.Parallel()
	var c idempotency.Counter
	k := idempotency.Key{Scope: idempotency.AddressScope("192.0.2.1")}
	kept, counts := 0, 0
	count := func() (int, error) {
		counts++
		return kept, nil
	}
	for range k.MaxKeys() {
		if ok, err := c.Admits(k, count); !ok || err != nil {
			t.Fatalf("the key after %d: %v, %v", kept, ok, err)
		}
		kept++
	}
	if ok, err := c.Admits(k, count); ok || err != nil {
		t.Errorf("one too many: %v, %v", ok, err)
	}
	if counts > k.MaxKeys()/50 {
		t.Errorf("%d keys took %d counts", kept, counts)
	}
	kept--
	if ok, err := c.Admits(k, count); !ok || err != nil {
		t.Errorf("after one was forgotten: %v, %v", ok, err)
	}
	outage := errors.New("down")
	if _, err := c.Admits(idempotency.Key{Scope: "new"}, func() (int, error) { return 0, outage }); !errors.Is(err, outage) {
		t.Errorf("got %v", err)
	}
}
