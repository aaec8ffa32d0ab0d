package logging

import (
	"context"
	"crypto/rand"
	"encoding/base64"
)

const (
	requestIDPrefix = "req_"
	requestIDBytes  = 15 // random bytes of an id: 20 characters of base64url
	requestIDMax    = 64 // characters that an id from outside may have
)

type requestIDKey struct{}

// NewRequestID returns a new id: "req_" and 20 random URL-safe characters (120 bits).
func NewRequestID() string {
	var b [requestIDBytes]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return requestIDPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// ValidRequestID says whether an id from outside may be taken over: 1 to 64
// characters of A–Z, a–z, 0–9, "_" and "-". It says nothing about who made it.
func ValidRequestID(s string) bool {
	if s == "" || len(s) > requestIDMax {
		return false
	}
	for i := range len(s) {
		if !tokenChar(s[i]) {
			return false
		}
	}
	return true
}

// WithRequestID returns a context that carries id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id that ctx carries, or "" if there is none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
