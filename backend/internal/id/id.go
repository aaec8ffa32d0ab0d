// Package id makes the identifiers of stored things: a prefix that tells the kind, and
// characters that mean nothing.
package id

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
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
	Proposal     = "pro"
	Session      = "ses"
	Passkey      = "pky"
	Field        = "fld"
)

// Form is the pattern of what follows the prefix and the underscore of a member's object.
const Form = "[0-9a-z]{1,10}"

var form = regexp.MustCompile("^" + Form + "$")

// New returns a random identifier for an object of a member: prefix, an underscore, and twice two
// letters and three digits, which models read as six tokens. It is unique within the member and the
// prefix as far as 4.6e11 values allow; the primary key refuses the rest, and the transaction is
// repeated.
func New(prefix string) string {
	const form = "aa000aa000"
	random := make([]byte, len(form))
	_, _ = rand.Read(random) // never fails
	for i, b := range []byte(form) {
		base := byte(10)
		if b == 'a' {
			base = 26
		}
		random[i] = b + random[i]%base // the first few values are a little more frequent
	}
	return prefix + "_" + string(random)
}

// Fill sets the identifier of an object that has none.
func Fill(objectID *string, prefix string) {
	if *objectID == "" {
		*objectID = New(prefix)
	}
}

// Generator makes identifiers for what is not a member's alone, such as credentials: a prefix and a
// ULID. They are unique within the service and grow strictly within one process. It is safe for
// concurrent use.
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

// Valid tells whether s is an identifier with the prefix.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok {
		return false
	}
	if !slices.Contains([]string{Member, Token, Client, Grant, Session, Passkey, Credit, Job}, prefix) {
		return form.MatchString(rest)
	}
	u, err := ulid.ParseStrict(rest)
	return err == nil && u.String() == rest // the decoder takes lower case as well
}
