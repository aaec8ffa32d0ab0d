package rpc

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
)

// ServiceCredential tells the edge and internal callers from everybody else.
type ServiceCredential struct{ sum [sha256.Size]byte }

// NewServiceCredential returns the check for a service token. An empty token is
// never accepted, so that only client certificates are.
func NewServiceCredential(token string) ServiceCredential {
	return ServiceCredential{sum: sha256.Sum256([]byte(token))}
}

// Trusted tells whether the request carries the service credential or a verified
// client certificate.
func (c ServiceCredential) Trusted(r *http.Request) bool {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	token := r.Header.Get(HeaderServiceToken)
	given := sha256.Sum256([]byte(token))
	return token != "" && subtle.ConstantTimeCompare(given[:], c.sum[:]) == 1
}

// Guard lets trusted callers through to handlers that are no RPCs.
func (c ServiceCredential) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Trusted(r) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, missingService, http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const missingService = "the service credential is missing or wrong: send it as " + HeaderServiceToken
