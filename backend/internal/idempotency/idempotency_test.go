package idempotency_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	count := func() (idempotency.Usage, error) {
		counts++
		return idempotency.Usage{Keys: kept}, nil
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
	if _, err := c.Admits(idempotency.Key{Scope: "new"}, func() (idempotency.Usage, error) { return idempotency.Usage{}, outage }); !errors.Is(err, outage) {
		t.Errorf("got %v", err)
	}
}

// A scope has a bound in bytes too. Answers stored since the last count count towards it.
func TestBytesOfAScope(t *testing.T) {
	t.Parallel()
	for k, size := range map[idempotency.Key]int64{
		{Scope: idempotency.AddressScope("192.0.2.1")}: 4 << 20, {Scope: "pat_1", Tenant: "mem_1"}: 64 << 20,
	} {
		var c idempotency.Counter
		kept := int64(0)
		count := func() (idempotency.Usage, error) { return idempotency.Usage{Bytes: kept}, nil }
		answer := make([]byte, k.MaxAnswer())
		for admitted := true; admitted; {
			var err error
			if admitted, err = c.Admits(k, count); err != nil {
				t.Fatal(err)
			}
			if admitted {
				kept += int64(len(answer))
				c.Kept(k, answer)
			}
		}
		if kept != size {
			t.Errorf("%s keeps %d bytes", k.Scope, kept)
		}
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	visitor, member := idempotency.Key{Scope: idempotency.AddressScope("192.0.2.1")}, idempotency.Key{Scope: "pat_1", Tenant: "mem_1"}
	var c idempotency.Counter
	var totals idempotency.Totals
	measured := 0
	measure := func() (idempotency.Totals, error) {
		measured++
		return totals, nil
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	room := func(k idempotency.Key) bool {
		t.Helper()
		ok, err := c.HasRoom(k, now, measure)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for room(visitor) {
		totals.Addresses += 64 << 10
		c.Kept(visitor, make([]byte, 64<<10))
	}
	if totals.Addresses != 128<<20 || measured > 20 {
		t.Errorf("%d bytes after %d measurements", totals.Addresses, measured)
	}
	if !room(member) {
		t.Error("visitors take the members' room")
	}
	totals.Addresses = 0
	if measured = 0; room(visitor) || measured != 0 {
		t.Errorf("measured %d times at once", measured)
	}
	if now = now.Add(time.Minute); !room(visitor) {
		t.Error("no room a minute after it was made")
	}
	outage := errors.New("down")
	now = now.Add(time.Hour)
	if _, err := c.HasRoom(visitor, now, func() (idempotency.Totals, error) { return idempotency.Totals{}, outage }); !errors.Is(err, outage) {
		t.Errorf("got %v", err)
	}
	if measured = 0; !room(visitor) || measured != 1 {
		t.Errorf("after an outage: measured %d times", measured)
	}
}
