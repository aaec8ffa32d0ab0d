package demo

import (
	"time"

	"github.com/kith-crm/kith/sandbox"
)

// IsUsername returns a check for the usernames of the demo account's members,
// which nobody else may take.
func IsUsername(now time.Time) func(name string) bool {
	taken := map[string]bool{}
	for _, m := range sandbox.Build(now.UTC()).Members {
		taken[m.Username] = true
	}
	return func(name string) bool { return taken[name] }
}
