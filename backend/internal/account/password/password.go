// Package password hashes and checks members' passwords with argon2id
// (RFC 9106), in the encoded form that other argon2 tools read as well.
package password

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
	"golang.org/x/crypto/argon2"
)

// MinLength and MaxLength limit a password, in characters.
const (
	MinLength = 10
	MaxLength = 256
)

// Cost is the memory and time of one hash. The zero value is used for members' passwords. It has
// the parameters that OWASP recommends: 19 MiB and two passes in one lane. Tests set a small one.
// Verify takes the cost from the hash, so that hashes of different costs can exist together.
type Cost struct {
	// MemoryKiB is the memory of one hash, in KiB; 0 means 19 MiB.
	MemoryKiB uint32
	// Passes is the number of passes over that memory; 0 means 2.
	Passes uint32
}

const (
	defaultMemoryKiB = 19 * 1024
	defaultPasses    = 2
	lanes            = 1
	keyLength        = 32
)

// The maximum cost that Verify accepts, so that a damaged hash can neither panic nor
// exhaust the machine.
const (
	maxMemoryKiB = 256 * 1024
	maxPasses    = 16
)

// Check fails with fault.Invalid unless the password may be chosen: long enough, not
// one of the first that an attacker would try, and without the names of its owner
// (username, e-mail address).
func Check(password string, names ...string) error {
	n := utf8.RuneCountInString(password)
	if n < MinLength || n > MaxLength {
		return fault.InvalidField("password", "use %d to %d characters", MinLength, MaxLength)
	}
	for _, name := range names {
		local, _, _ := strings.Cut(strings.ToLower(name), "@")
		if utf8.RuneCountInString(local) >= minName && strings.Contains(strings.ToLower(password), local) {
			return fault.InvalidField("password", "do not use your username or e-mail address in it")
		}
	}
	if isCommon(password) {
		return fault.InvalidField("password", "this one is easy to guess; a few words that do not belong together are better")
	}
	return nil
}

// minName is the shortest name that a password must not contain, in characters; shorter
// ones occur in many words.
const minName = 3

// Hash is Cost.Hash at the default cost.
func Hash(password string) (string, error) { return Cost{}.Hash(password) }

// Hash returns the encoded argon2id hash of a password with a fresh salt. It
// fails for a cost that Verify would refuse.
func (c Cost) Hash(password string) (string, error) {
	return c.encode(func(salt []byte, memory, passes uint32) ([]byte, error) {
		return argon2.IDKey([]byte(password), salt, passes, memory, lanes, keyLength), nil
	})
}

// Unmatched returns a hash that no known password matches, without the cost of hashing
// one. Verifying a password against it takes as long as against any other hash.
func (c Cost) Unmatched() (string, error) {
	return c.encode(func([]byte, uint32, uint32) ([]byte, error) {
		key := make([]byte, keyLength)
		_, err := rand.Read(key)
		return key, err
	})
}

func (c Cost) encode(makeKey func(salt []byte, memory, passes uint32) ([]byte, error)) (string, error) {
	memory, passes := cmp.Or(c.MemoryKiB, defaultMemoryKiB), cmp.Or(c.Passes, defaultPasses)
	if memory > maxMemoryKiB || passes > maxPasses {
		return "", fmt.Errorf("hash password: a cost of %d KiB and %d passes is more than Verify takes", memory, passes)
	}
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	key, err := makeKey(salt, memory, passes)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// CostsMoreThan reports whether a hash was made at a lower cost, in memory or in passes. It is false for an
// invalid hash.
func (c Cost) CostsMoreThan(hash string) bool {
	h, ok := parse(hash)
	return ok && (h.memory < cmp.Or(c.MemoryKiB, defaultMemoryKiB) || h.passes < cmp.Or(c.Passes, defaultPasses))
}

// Verify reports whether the password matches the hash. No password matches an invalid
// hash.
func Verify(hash, password string) bool {
	h, ok := parse(hash)
	if !ok {
		return false
	}
	got := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.threads, uint32(len(h.key)))
	return subtle.ConstantTimeCompare(got, h.key) == 1
}

// ValidHash reports whether Verify can check a hash: it must be an argon2id hash whose cost is within the limits.
func ValidHash(hash string) bool {
	_, ok := parse(hash)
	return ok
}

// parsed are the parts of a hash.
type parsed struct {
	memory, passes uint32
	threads        uint8
	salt, key      []byte
}

func parse(hash string) (h parsed, ok bool) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return h, false
	}
	var version int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return h, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.threads); err != nil {
		return h, false
	}
	if h.memory > maxMemoryKiB || h.passes < 1 || h.passes > maxPasses || h.threads < 1 {
		return h, false
	}
	var err error
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return h, false
	}
	h.key, err = base64.RawStdEncoding.DecodeString(parts[5])
	return h, err == nil && len(h.key) > 0
}
