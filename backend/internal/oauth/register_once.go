package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
)

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"
	mediaJSON      = "application/json"
	// unknownAddress is the scope of callers whose address is unknown.
	unknownAddress = "unknown"
)

// registrationKey returns the key of a registration that may be repeated, or nil. Its
// scope is the caller's address, because a caller that registers has no credential yet.
func (s *Server) registrationKey(r *http.Request) (*idempotency.Key, error) {
	name, err := readKey(r.Header)
	if name == "" || err != nil {
		return nil, err
	}
	address := unknownAddress
	if s.ClientAddress != nil {
		address = s.ClientAddress(r)
	}
	return &idempotency.Key{Scope: idempotency.AddressScope(address), Name: name}, nil
}

// readKey returns the Idempotency-Key of a request; empty if it has none. It fails with a
// text for the caller if the header is not valid.
func readKey(h http.Header) (string, error) {
	lines := h.Values(headerKey)
	switch {
	case len(lines) == 0:
		return "", nil
	case len(lines) > 1 || !idempotency.Valid(lines[0]):
		return "", errors.New("send one Idempotency-Key of 1 to 255 printable ASCII characters")
	}
	return lines[0], nil
}

// fingerprint distinguishes registrations from each other and from requests to other
// endpoints.
func fingerprint(r *http.Request, body []byte) string {
	h := sha256.New()
	h.Write([]byte(r.Method + "\n" + PathRegister + "\n" + mediaJSON + "\n"))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// registerOnce registers a client, or repeats the stored response. If the metadata is invalid, it
// stores that response. It continues if the caller disconnects.
func (s *Server) registerOnce(w http.ResponseWriter, r *http.Request, key idempotency.Key, c *Client, invalid error) {
	var answer []byte
	old, err := s.Keys.Once(context.WithoutCancel(r.Context()), key, func(ctx context.Context, tx db.Querier) (body []byte, err error) {
		var wrong *fault.Error
		switch {
		case errors.As(invalid, &wrong) && wrong.Code == fault.Invalid:
			answer, err = json.Marshal(invalidRegistration(wrong))
		case invalid != nil:
			return nil, invalid
		default:
			if err := insertClient(ctx, s.Store, tx, c); err != nil {
				return nil, err
			}
			answer, err = json.Marshal(answerOf(c))
		}
		return answer, err
	})
	if err != nil {
		s.refuseRegistration(w, r, err)
		return
	}
	if old != nil {
		answer = old
		w.Header().Set(headerReplayed, "true")
	}
	status := http.StatusCreated
	if failed := (oauthError{}); json.Unmarshal(answer, &failed) == nil && failed.Error != "" {
		status = http.StatusBadRequest
	}
	writeJSON(w, status, json.RawMessage(answer))
}

// refuseKey responds to errors of the idempotency key, and reports whether it was one.
func refuseKey(w http.ResponseWriter, coded *fault.Error) bool {
	if errors.Is(coded, idempotency.ErrNoRoom) {
		w.Header().Set("Retry-After", "60")
		writeJSON(w, http.StatusServiceUnavailable, oauthError{"temporarily_unavailable", coded.Message})
		return true
	}
	status := 0
	switch coded.Code {
	case fault.InFlight:
		status = http.StatusConflict
		w.Header().Set("Retry-After", "1")
	case fault.KeyReused:
		status = http.StatusUnprocessableEntity
	case fault.Exhausted:
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "3600") // old keys expire one by one
	default:
		return false
	}
	writeJSON(w, status, oauthError{"invalid_request", coded.Message})
	return true
}
