// Package id makes the identifiers of stored things: a prefix that tells the
// kind and a ULID, which sorts by time of creation.
package id

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// The prefixes.
const (
	Member       = "mem"
	Token        = "pat"
	Connection   = "con"
	Handle       = "hnd"
	Organization = "org"
	Position     = "pos"
	Note         = "not"
	Interaction  = "int"
	Tag          = "tag"
	Change       = "chg"
	Group        = "grp"
	Date         = "dat"
	Relationship = "rel"
	DistinctPair = "dis"
	Reminder     = "rem"
	Credit       = "crd"
	Import       = "imp"
	Job          = "job"
	File         = "fil"
	Client       = "cli"
	Grant        = "grt"
	View         = "viw"
	Decision     = "dec"
	Session      = "ses"
	Passkey      = "pky"
	Field        = "fld"
)

// Generator makes identifiers that grow strictly within one process. It is safe
// for concurrent use.
type Generator struct {
	mu      sync.Mutex
	now     func() time.Time
	last    uint64 // the latest time used, in milliseconds
	entropy *ulid.MonotonicEntropy
}

// NewGenerator returns a Generator that reads the time from now.
func NewGenerator(now func() time.Time) *Generator {
	return &Generator{now: now, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// New returns prefix, an underscore and 26 characters of Crockford's base 32.
// While the clock is set back, identifiers keep the latest time.
func (g *Generator) New(prefix string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, ulid.Timestamp(g.now()))
	u, err := ulid.New(g.last, g.entropy)
	if err != nil {
		return "", fmt.Errorf("make %s id: %w", prefix, err)
	}
	return prefix + "_" + u.String(), nil
}

// First returns the lowest identifier with the prefix that can be made at a time.
func First(prefix string, at time.Time) string {
	var u ulid.ULID
	_ = u.SetTime(min(ulid.Timestamp(at), ulid.MaxTime()))
	return prefix + "_" + u.String()
}

// Valid tells whether s is an identifier with the prefix.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok {
		return false
	}
	u, err := ulid.ParseStrict(rest)
	return err == nil && u.String() == rest // the decoder takes lower case as well
}
