// Package tenant defines the tenant whose data a call reaches, and the caller.
//
// A tenant is one member's isolated data; a principal is an authenticated
// caller, bound to one tenant. Packages account and oauth check credentials, package db
// isolates tenants.
package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ID is a tenant's identifier, equal to its member's.
type ID string

// Placement returns the text by which the edge sends all calls of the tenant to the same backend,
// whichever credential they have. It does not reveal the id.
func (t ID) Placement() string {
	sum := sha256.Sum256([]byte("kith placement " + t))
	return hex.EncodeToString(sum[:12])
}

// Principal is an authenticated caller.
type Principal struct {
	// Tenant is the tenant whose data the caller reaches.
	Tenant ID
	// Username and DisplayName are the member's.
	Username, DisplayName string
	// Timezone is the member's IANA zone, which decides what "today" is.
	Timezone string
	// Locale is the member's BCP 47 locale.
	Locale string
	// Plan decides the monthly credits.
	Plan string
	// ReadOnly means that every write is refused (the sandbox).
	ReadOnly bool
	// DataVersion is the tenant's count of writes at the time of authentication.
	DataVersion int64
	// EmbeddedVersion is the data version at which a vector of a person was last stored;
	// 0 while the member has none.
	EmbeddedVersion int64
	// EmbeddingsHost is the remote embedding provider that the member allows; empty
	// for none.
	EmbeddingsHost string
	// Credential is what the caller called with.
	Credential Credential
}

// Credential is a valid personal token or OAuth grant.
type Credential struct {
	// ID is stable: it outlives the rotation of an OAuth grant's tokens.
	ID string
	// ClientID is the id that the OAuth client was registered under; empty for a
	// personal token.
	ClientID string
	// Kind is "token" or "oauth".
	Kind string
	// Name is the token's name or the client's.
	Name string
	// Scopes are the scopes that the credential has.
	Scopes []string
	// Tools are the names of the tools that the credential is limited to; empty when it
	// is not limited.
	Tools []string
	// ExpiresAt is zero when the credential does not expire. For OAuth it is the end of the
	// access token, which a refresh replaces.
	ExpiresAt time.Time
	// GrantExpiresAt is when the member's permission of an OAuth client ends; zero when it
	// lasts until it is revoked, and for a personal token.
	GrantExpiresAt time.Time
	// Paused means that the member has paused the agent: it may call nothing.
	Paused bool
	// Asks says which acts need the member's approval.
	Asks ApprovalPolicy
}

// Holds reports whether the credential has a scope.
func (c Credential) Holds(scope string) bool { return slices.Contains(c.Scopes, scope) }

// Allows reports whether the credential may call a tool, given its limit to named tools.
func (c Credential) Allows(tool string) bool {
	return len(c.Tools) == 0 || slices.Contains(c.Tools, tool)
}

type principalKey struct{}

// WithPrincipal returns a context with the caller.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the caller of a context, or nil for an anonymous one.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}

// DefaultAbove is how many people a call may change, unless the member chose a number, before
// it is an act of the kind bulk. MaxAbove is the largest number to choose.
const (
	DefaultAbove = 10
	MaxAbove     = 10_000
)

// ApprovalPolicy says which acts of a credential need the member's approval. The zero value means none.
type ApprovalPolicy struct {
	// Acts are kinds of acts, as package catalog names them.
	Acts []string
	// Above is how many people a call may change before it is an act of the kind bulk.
	Above int
}

// bulkAct is the kind of act that has a number.
const bulkAct = "bulk"

// ParseAsks reads what String wrote.
func ParseAsks(stored string) ApprovalPolicy {
	a := ApprovalPolicy{Above: DefaultAbove}
	for word := range strings.FieldsSeq(stored) {
		act, number, _ := strings.Cut(word, "=")
		a.Acts = append(a.Acts, act)
		if above, err := strconv.Atoi(number); err == nil {
			a.Above = above
		}
	}
	return a
}

// String returns the stored form: the kinds, separated by single spaces, with the number of
// bulk, such as "delete bulk=10".
func (a ApprovalPolicy) String() string {
	words := slices.Clone(a.Acts)
	for i, act := range words {
		if act == bulkAct {
			words[i] = act + "=" + strconv.Itoa(a.Above)
		}
	}
	return strings.Join(words, " ")
}

// Before reports whether acts of a kind need the member's approval.
func (a ApprovalPolicy) Before(act string) bool { return slices.Contains(a.Acts, act) }
