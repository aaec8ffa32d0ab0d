package upstream

import (
	"net/http"
	"strconv"
	"time"
)

// Headers with which the backend says whose call it was and what it cost. Each
// may be absent.
const (
	headerCredentialID = "Kith-Credential-Id"
	headerCharged      = "Kith-Credits-Charged"
	headerRemaining    = "Kith-Credits-Remaining"
	headerReset        = "Kith-Credits-Reset"
	headerIdempotency  = "Kith-Idempotency"
)

// What headerIdempotency says of a call that may be repeated.
const (
	stateReplayed = "replayed"
	stateInFlight = "in_flight"
	stateReused   = "reused"
)

// Receipt is what the backend says of a call besides its answer.
type Receipt struct {
	// CredentialID is the stable id of the credential, "" if not told.
	CredentialID string
	// Replayed says that this is the answer of an earlier call with the same key.
	Replayed bool
	// Metered says whether the fields below were told.
	Metered bool
	// Charged and Remaining are credits.
	Charged, Remaining int
	// ResetsAt is when the allowance is renewed, RFC 3339; "" if not told.
	ResetsAt string
}

func newReceipt(h http.Header) Receipt {
	r := Receipt{CredentialID: h.Get(headerCredentialID), Replayed: h.Get(headerIdempotency) == stateReplayed}
	charged, err := strconv.Atoi(h.Get(headerCharged))
	if err != nil {
		return r
	}
	remaining, err := strconv.Atoi(h.Get(headerRemaining))
	if err != nil {
		return r
	}
	r.Metered, r.Charged, r.Remaining = true, charged, remaining
	if at, err := time.Parse(time.RFC3339, h.Get(headerReset)); err == nil {
		r.ResetsAt = at.UTC().Format(time.RFC3339)
	}
	return r
}
