package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// maxKey bounds an Idempotency-Key, in bytes; fixed by the specification.
const maxKey = 255

// readKey reads the Idempotency-Key, which is checked on every method. What it
// returns is for the backend, which alone knows what was done before; it is nil
// for the methods that do nothing, since repeating them does no harm.
func (e *endpoint) readKey(r *http.Request, c *call, body []byte) (*upstream.Retry, *failure) {
	lines := r.Header["Idempotency-Key"]
	if len(lines) == 0 {
		return nil, nil
	}
	if len(lines) > 1 || !validKey(lines[0]) {
		return nil, refusal(http.StatusBadRequest, "Idempotency-Key must be one header of 1 to 255 printable ASCII characters.")
	}
	if c.kind != request || c.method != methodCallTool {
		return nil, nil
	}
	return &upstream.Retry{Key: lines[0], Fingerprint: e.fingerprint(r, body)}, nil
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= maxKey
}

// fingerprint is a hash of what makes a request another one: method, operation,
// media type and the bytes of the body. The paths of one operation are one: the
// deprecated path and its successor, and the paths of the sandbox.
func (e *endpoint) fingerprint(r *http.Request, body []byte) string {
	operation := route.MCPCurrent
	if e.mount.Policy == DemoAccount {
		operation = route.MCPSandbox
	}
	h := sha256.New()
	// The media type is the one that is admitted, whatever its parameters.
	h.Write([]byte(r.Method + "\n" + operation + "\napplication/json\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// keyFailure is the answer to a key that is taken.
func keyFailure(kind upstream.Kind) *failure {
	if kind == upstream.InFlight {
		return refusal(problem.IdempotencyConflict.Status(),
			"A request with this Idempotency-Key is still being worked on. Send the same request again in a second.")
	}
	return refusal(problem.IdempotencyMismatch.Status(),
		"This Idempotency-Key was used for another request within the last 24 hours. Send the same bytes to repeat that one, or take a new key.")
}
