package idempotency

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Window is how long an answer is given again; fixed by the specification.
const Window = 24 * time.Hour

// Bounds of what is kept. A caller without a credential, known by its address
// alone, gets less.
const (
	maxKeys          = 10_000
	maxAnswer        = 1 << 20
	maxAddressKeys   = 1_000
	maxAddressAnswer = 64 << 10
)

// addressScope is before the address of a caller without a credential.
const addressScope = "address:"

// Key names a request that may be repeated.
type Key struct {
	// Scope is whose key it is: a credential's id, or an address.
	Scope string
	// Name is what the caller sent.
	Name string
	// Fingerprint tells requests apart: a hash of method, route, media type and body.
	Fingerprint string
	// Tenant is the credential's; empty for an address.
	Tenant tenant.ID
}

// AddressScope is the scope of a caller without a credential of its own.
func AddressScope(bucket string) string { return addressScope + bucket }

// Record is a kept answer, and its row.
type Record struct {
	Scope       string    `bun:",pk"`
	Key         string    `bun:",pk"`
	TenantID    tenant.ID `bun:",nullzero"`
	Fingerprint string
	Answer      []byte
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// MaxAnswer is the size of the largest answer that is kept, in bytes.
func (k Key) MaxAnswer() int {
	if k.Tenant == "" {
		return maxAddressAnswer
	}
	return maxAnswer
}

// MaxKeys is how many keys of the scope may live at once.
func (k Key) MaxKeys() int {
	if k.Tenant == "" {
		return maxAddressKeys
	}
	return maxKeys
}

// Match returns the answer that was kept for the key. It fails with
// fault.KeyReused when that was another request's.
func (k Key) Match(r *Record) ([]byte, error) {
	if r.Fingerprint != k.Fingerprint {
		return nil, fault.New(fault.KeyReused,
			"this Idempotency-Key was used for another request within the last 24 hours: take a new key for a new request, or repeat the same bytes")
	}
	return r.Answer, nil
}

// Valid tells whether name may be a key: 1 to 255 printable ASCII characters.
func Valid(name string) bool {
	for i := range len(name) {
		if name[i] < 0x20 || name[i] > 0x7e {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 255
}

// InFlight is the refusal of a request whose first sending is still worked on.
func InFlight() error {
	return fault.New(fault.InFlight, "a request with this Idempotency-Key is being worked on: repeat it in a second")
}
