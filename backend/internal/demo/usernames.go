package demo

import (
	"time"

	"github.com/kith-crm/kith/sandbox"
)

// IsUsername returns a check for the usernames of the sandbox's members, which no
// other member may take.
func IsUsername(now time.Time) func(name string) bool {
	taken := map[string]bool{}
	for _, m := range sandbox.Members(now) {
		taken[m.Username] = true
	}
	return func(name string) bool { return taken[name] }
}
