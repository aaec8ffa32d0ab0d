package account

import (
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The plans, cheapest first.
const (
	PlanFree = "free"
	PlanPro  = "pro"
)

// Member is a person with an account, and the row that holds it.
type Member struct {
	ID           tenant.ID `bun:",pk"`
	Username     string
	Email        string
	PasswordHash string
	Timezone     string
	Locale       string
	Plan         string
	SuspendedAt  time.Time `bun:",nullzero"`
	// AccessEpoch grows whenever access is revoked; see Access.
	AccessEpoch int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// EmailVerifiedAt is when the member's address was verified.
	EmailVerifiedAt time.Time `bun:",nullzero"`
	// EmbeddingsHost is the remote embedding provider to which the member allows data
	// about people to be sent; empty for none.
	EmbeddingsHost string
	// StepsHiddenAt is when the member hid the first steps on Today.
	StepsHiddenAt time.Time `bun:",nullzero"`
	// ReadOnly is set for a demo account; it is read by AccountStore and stored with
	// the tenant.
	ReadOnly bool `bun:",scanonly"`
}

// Active reports whether the member is a real, active one: neither a demo account nor
// suspended.
func (m *Member) Active() bool { return !m.ReadOnly && m.SuspendedAt.IsZero() }

// MaySignIn reports whether the member can sign in: active, with a password.
func (m *Member) MaySignIn() bool { return m.Active() && m.PasswordHash != "" }

var usernamePattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])$`)

// reserved names would be mistaken for the service itself, for the people who run it, or for its paths.
func reserved() []string {
	return []string{
		"about", "abuse", "account", "activity", "admin", "administration", "administrator", "agent", "agents", "api",
		"app", "assets", "avatar", "batch", "billing", "blog", "calendar", "connect", "contact", "dav", "decide",
		"demo", "directory", "docs", "forgot", "groups", "help", "helpdesk", "home", "hostmaster", "human", "import",
		"info", "jobs", "kith", "legal", "login", "logout", "mail", "mcp", "me", "member", "members", "moderator",
		"network", "no-reply", "noreply", "not-me", "oauth", "official", "openapi", "owner", "people", "postmaster",
		"privacy", "profile", "register", "reset", "root", "sandbox", "security", "service", "settings", "sign-in",
		"sign-out", "sign-up", "signin", "signup", "staff", "status", "superuser", "support", "sysadmin", "system",
		"team", "terms", "test", "today", "user", "v1", "verify", "webmaster", "well-known", "www",
	}
}

// IsUsername reports whether name has the form of a username.
func IsUsername(name string) bool { return usernamePattern.MatchString(name) }

// CheckUsername fails with fault.Invalid unless name may become a username.
func CheckUsername(name string) error {
	if !IsUsername(name) {
		return fault.InvalidField("username",
			"use 3 to 30 lower-case letters, digits and hyphens, with a letter or digit at both ends")
	}
	if slices.Contains(reserved(), name) {
		return fault.InvalidField("username", "%q is reserved; choose another", name)
	}
	return nil
}

// CheckEmail fails with fault.Invalid unless address is a bare e-mail address,
// and returns it in lower case.
func CheckEmail(address string) (string, error) {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > 254 {
		return "", fault.InvalidField("email", "%q is no e-mail address", address)
	}
	return strings.ToLower(address), nil
}

// CheckPlan fails with fault.Invalid unless the plan exists.
func CheckPlan(plan string) error {
	if plan != PlanFree && plan != PlanPro {
		return fault.InvalidField("plan", "%q is no plan; use %s or %s", plan, PlanFree, PlanPro)
	}
	return nil
}
