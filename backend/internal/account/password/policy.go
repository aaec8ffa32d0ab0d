package password

import (
	"context"
	"crypto/sha1" //nolint:gosec // the lists of breached passwords are made with it; nothing is protected by it
	"encoding/hex"
	"log/slog"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/observability/logging"
)

// PolicyConfig says where a Policy looks for passwords that were breached. The zero value looks
// nowhere.
type PolicyConfig struct {
	// File is a sorted file of SHA-1 hashes, see openBreachedFile; empty for none.
	File string
	// URL is the address of an API with the ranges of hashes, see newBreachedAPI; empty for none.
	URL string
	// Logger takes warnings when a list cannot be read; nil discards them. Neither passwords nor
	// their hashes are logged.
	Logger *slog.Logger
}

// Policy says which passwords may be chosen. A nil policy only applies the function Check. It is
// safe for concurrent use.
type Policy struct {
	lists  []breached
	logger *slog.Logger
	failed logging.Seldom
}

// breached is a list of hashes of breached passwords.
type breached interface {
	// has reports whether the list has a hash, as 40 upper-case hexadecimal digits.
	has(ctx context.Context, hash string) (bool, error)
}

// NewPolicy opens the lists. It fails if the file cannot be such a list.
func NewPolicy(c PolicyConfig) (*Policy, error) {
	p := &Policy{logger: c.Logger}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	if c.File != "" {
		list, err := openBreachedFile(c.File)
		if err != nil {
			return nil, err
		}
		p.lists = append(p.lists, list)
	}
	if c.URL != "" {
		list, err := newBreachedAPI(c.URL)
		if err != nil {
			return nil, err
		}
		p.lists = append(p.lists, list)
	}
	return p, nil
}

// Check fails with fault.Invalid unless the password may be chosen: it passes Check, and no list
// has it. A list that cannot be read refuses nothing.
func (p *Policy) Check(ctx context.Context, password string, names ...string) error {
	if err := Check(password, names...); err != nil || p == nil {
		return err
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // see above
	hash := strings.ToUpper(hex.EncodeToString(sum[:]))
	for _, list := range p.lists {
		found, err := list.has(ctx, hash)
		if err != nil {
			if p.failed.Now() {
				p.logger.WarnContext(ctx, "breached passwords cannot be looked up", "error", err)
			}
			continue
		}
		if found {
			return fault.InvalidField("password", "this password was stolen from some website, and attackers try such passwords first; choose another, and change it wherever you use it")
		}
	}
	return nil
}
