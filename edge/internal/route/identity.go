package route

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// identity is where an agent asks whose access it holds.
func identity() Route {
	return Route{
		Name: Identity, Methods: []string{http.MethodPost}, Pattern: "/agent/identity", State: Current, Protocol: HTTP,
		Anonymous: true, RatePolicy: ratelimit.PolicyIdentity,
		Summary: "Tells an agent what it may do: without a credential, or with the bearer that it sends.",
	}
}
