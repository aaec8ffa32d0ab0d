// Package connectheader names the HTTP headers of Connect calls between edge and backend, besides Authorization.
package connectheader

// Prefix is what all of them begin with. The edge removes such headers of its own callers.
const Prefix = "Kith-"

// Headers of requests.
const (
	// ServiceToken carries the service credential.
	ServiceToken = "Kith-Service-Token"
	// RequestID carries the request id of the edge.
	RequestID = "Kith-Request-Id"
	// ClientAddress carries the address of the edge's caller.
	ClientAddress = "Kith-Client-Address"
	// SandboxVisitor marks a call from the sandbox's paths. It carries the visitor's address bucket.
	SandboxVisitor = "Kith-Sandbox-Visitor"
	// IdempotencyKey carries the key of the public request, Fingerprint a hash of the request.
	IdempotencyKey = "Kith-Idempotency-Key"
	Fingerprint    = "Kith-Request-Fingerprint"
)

// Headers of responses.
const (
	// CredentialID is the stable id of the caller's credential.
	CredentialID = "Kith-Credential-Id"
	// Placement is a text by which the edge sends all calls of a member to the same backend.
	Placement = "Kith-Placement"
	// Idempotency says what became of the key: replayed, in_flight or reused; without it, the request ran now.
	Idempotency = "Kith-Idempotency"
	// CreditsCharged is what the call cost, CreditsRemaining what is left of the month, and CreditsReset the time
	// (RFC 3339) of the next month.
	CreditsCharged   = "Kith-Credits-Charged"
	CreditsRemaining = "Kith-Credits-Remaining"
	CreditsReset     = "Kith-Credits-Reset"
)
