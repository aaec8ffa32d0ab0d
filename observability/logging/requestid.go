package logging

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strings"
)

const (
	requestIDPrefix = "req_"
	requestIDBytes  = 15 // random bytes of an id: 20 characters of base64url
	requestIDMax    = 64 // characters of an id from a caller
)

type requestIDKey struct{}

// NewRequestID returns a new id: "req_" and 20 random URL-safe characters (120 bits).
func NewRequestID() string {
	var b [requestIDBytes]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return requestIDPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// ValidRequestID reports whether an id from a caller may be used: 1 to 64 characters of A–Z, a–z,
// 0–9, "_" and "-". The id may be the caller's or Kith's own.
func ValidRequestID(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return s != "" && len(s) <= requestIDMax && strings.Trim(s, allowed) == ""
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
