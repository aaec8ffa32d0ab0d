package idempotency

import (
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Window is how long an answer is repeated; fixed by the specification.
const Window = 24 * time.Hour

// bounds are how much is stored: for one answer, for one scope and for all scopes
// of a kind. Sizes are in bytes.
type bounds struct {
	answer   int
	keys     int
	bytes    int64
	allBytes int64
}

// Callers without a credential are counted by address, with lower bounds. All credentials of a member
// together have the bounds of a member, too.
var (
	credentialBounds = bounds{answer: 1 << 20, keys: 10_000, bytes: 64 << 20, allBytes: 2 << 30}
	memberBounds     = bounds{answer: 1 << 20, keys: 30_000, bytes: 128 << 20, allBytes: 2 << 30}
	addressBounds    = bounds{answer: 64 << 10, keys: 1_000, bytes: 4 << 20, allBytes: 128 << 20}
)

// MaxRead is the size of the largest answer to a read that is stored, in bytes: a read can be repeated.
const MaxRead = 64 << 10

// Prefixes of scopes: of a caller without a credential, before the address, and of all credentials
// of a member, before its id.
const (
	addressScope = "address:"
	memberScope  = "member:"
)

// Key names a request that may be repeated.
type Key struct {
	// Scope is the owner of the key: a credential's id, or an address.
	Scope string
	// Name is what the caller sent.
	Name string
	// Fingerprint identifies the request: a hash of method, route, media type and body.
	Fingerprint string
	// Tenant is the credential's; empty for an address.
	Tenant tenant.ID
}

// AddressScope is the scope of a caller without a credential of its own.
func AddressScope(bucket string) string { return addressScope + bucket }

// Record is a stored answer, and its database row.
type Record struct {
	Scope       string    `bun:",pk"`
	Key         string    `bun:",pk"`
	TenantID    tenant.ID `bun:",nullzero"`
	Fingerprint string
	Answer      []byte
	ExpiresAt   time.Time
}

func (k Key) bounds() bounds {
	switch {
	case k.Tenant == "":
		return addressBounds
	case strings.HasPrefix(k.Scope, memberScope):
		return memberBounds
	default:
		return credentialBounds
	}
}

// ofMember is the key as one of all credentials of its member.
func (k Key) ofMember() Key {
	k.Scope = memberScope + string(k.Tenant)
	return k
}

// MaxAnswer is the size of the largest answer that is stored, in bytes.
func (k Key) MaxAnswer() int { return k.bounds().answer }

// MaxKeys is how many keys of the scope may live at once.
func (k Key) MaxKeys() int { return k.bounds().keys }

// MaxBytes is how many bytes of answers are stored for the scope at once.
func (k Key) MaxBytes() int64 { return k.bounds().bytes }

// maxTotal is how many bytes of answers are stored for all scopes of the key's kind.
func (k Key) maxTotal() int64 { return k.bounds().allBytes }

// admits reports whether a scope with this usage may store another answer.
func (k Key) admits(u Usage) bool { return u.Keys < k.MaxKeys() && u.Bytes < k.MaxBytes() }

// TooMany is the error for a key whose scope has no room for another one.
func (k Key) TooMany() error {
	return fault.New(fault.Exhausted,
		"There are too many keyed requests of the last 24 hours (at most %d, with %d MiB of answers): wait, or send this one without an Idempotency-Key.",
		k.MaxKeys(), k.MaxBytes()>>20)
}

// ErrNoRoom is the error for a write with a key while there is no room for any scope's
// answers; its code is fault.Unavailable.
var ErrNoRoom = fault.New(fault.Unavailable,
	"No more answers to keyed requests can be kept right now: try again later, or send this one without an Idempotency-Key.")

// Match returns the answer that was stored for the key; it is empty if the key was only bound to the
// request. It fails with fault.KeyReused when the answer belongs to another request.
func (k Key) Match(r *Record) ([]byte, error) {
	if r.Fingerprint != k.Fingerprint {
		return nil, fault.New(fault.KeyReused,
			"this Idempotency-Key was used for another request within the last 24 hours: take a new key for a new request, or repeat the same bytes")
	}
	return r.Answer, nil
}

// Valid reports whether name may be a key: 1 to 255 printable ASCII characters.
func Valid(name string) bool {
	for i := range len(name) {
		if name[i] < 0x20 || name[i] > 0x7e {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 255
}

// InFlight is the error for a repeated request while the first one is still running.
func InFlight() error {
	return fault.New(fault.InFlight, "a request with this Idempotency-Key is being worked on: repeat it in a second")
}
