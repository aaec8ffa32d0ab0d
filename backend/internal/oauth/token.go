package oauth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// maxForm limits the body of a token or revocation request, in bytes.
const maxForm = 64 << 10

// strictForm enforces RFC 6749 §3.2 on token requests: POST form only, each parameter
// once, nothing in the query, and no cached responses. Clients are public, so a client
// secret in any form is rejected.
func strictForm(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Pragma", "no-cache")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := checkForm(r); err != nil {
			op.WriteError(w, r, err, slog.New(slog.DiscardHandler)) // errors of the caller are not logged
			return
		}
		next.ServeHTTP(retryAfter{w}, r)
	})
}

func checkForm(r *http.Request) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return oidc.ErrInvalidRequest().WithDescription("send the parameters as application/x-www-form-urlencoded")
	}
	if r.URL.RawQuery != "" {
		return oidc.ErrInvalidRequest().WithDescription("send the parameters in the body, none in the address")
	}
	err = r.ParseForm()
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return oidc.ErrInvalidRequest().WithDescription("the form takes %d bytes at most", maxForm)
	}
	if err != nil {
		return oidc.ErrInvalidRequest().WithDescription("the form cannot be read")
	}
	if name, repeated := repeatedParameter(r.PostForm); repeated {
		return oidc.ErrInvalidRequest().WithDescription("the parameter %s is given twice", name)
	}
	dropEmpty(r.Form)
	dropEmpty(r.PostForm)
	if _, _, basic := r.BasicAuth(); basic || r.PostForm.Has("client_secret") || r.PostForm.Has("client_assertion") {
		return invalidClient("clients are public here: send client_id and no secret")
	}
	if asked := r.PostForm.Get("grant_type"); asked != "" && !slices.Contains(grantTypes(), asked) {
		return oidc.ErrUnsupportedGrantType().WithDescription("grant_type takes authorization_code and refresh_token")
	}
	return nil
}

// dropEmpty removes parameters without a value: they count as omitted (RFC 6749 §3.1, §3.2).
func dropEmpty(form url.Values) {
	maps.DeleteFunc(form, func(_ string, values []string) bool { return len(values) == 1 && values[0] == "" })
}

// repeatedParameter returns the name of a parameter that is given more than once, which
// RFC 6749 §3.1 and §3.2 forbid. RFC 8707 §2 allows several resources; here all
// resources are one, so a second one is rejected too.
func repeatedParameter(form url.Values) (string, bool) {
	for name, values := range form {
		if len(values) > 1 {
			return strings.ToValidUTF8(name, "?"), true
		}
	}
	return "", false
}

// retryAfter adds Retry-After to a response that reports an outage.
type retryAfter struct{ http.ResponseWriter }

func (w retryAfter) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.ResponseWriter.WriteHeader(status)
}

// RepeatLifetime is how long the answer to a refresh with an Idempotency-Key is repeated.
const RepeatLifetime = 60 * time.Second

// RefreshOnce keeps the answer to a refresh, so that a client that did not receive it can
// send the same request again. The answer is encrypted with a key that is derived from the
// presented refresh token, of which only a hash is stored: the database alone does not
// reveal it. It is kept in the row of the new access token, so the next refresh replaces
// it.
type RefreshOnce struct {
	aead   cipher.AEAD
	answer func(g *Grant) ([]byte, error)
}

// NewRefreshOnce returns how the answer to a request is kept: name is its Idempotency-Key,
// form are its parameters, and answer returns its answer with the new tokens of a grant.
// Only a request with the same client, parameters and key finds the answer.
func NewRefreshOnce(name string, form url.Values, answer func(g *Grant) ([]byte, error)) (*RefreshOnce, error) {
	// A refresh token has 256 random bits, so no salt is needed (RFC 5869 §3.1). The form has
	// the client, and the key no line feed.
	same := sha256.Sum256([]byte(form.Encode()))
	info := strings.Join([]string{"kith refresh answer", name, hex.EncodeToString(same[:])}, "\n")
	secret, err := hkdf.Key(sha256.New, []byte(form.Get("refresh_token")), nil, info, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("use derived key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &RefreshOnce{aead, answer}, err
}

// seal returns the encrypted answer with the new tokens of a grant, or nil for nil.
func (o *RefreshOnce) seal(g *Grant) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	plain, err := o.answer(g)
	if err != nil {
		return nil, fmt.Errorf("answer refresh: %w", err)
	}
	return o.aead.Seal(nil, nil, plain, []byte(g.ID)), nil
}

// find returns the answer that the same request got before, or nil: if there was none
// within RepeatLifetime, if the client has used the new refresh token since, or if the
// grant was revoked. It fails with ErrPaused while the grant is paused, and with
// fault.Conflict while the member is suspended.
func (o *RefreshOnce) find(ctx context.Context, s *db.DB, tx db.Querier, hash, clientID string) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	var g Grant
	var sealed []byte
	var suspended bool
	err := tx.NewRaw(`SELECT g.id, g.paused_at, m.suspended_at IS NOT NULL, a.answer FROM refresh_tokens r
JOIN grants g ON g.id = r.grant_id JOIN members m ON m.id = g.member_id JOIN access_tokens a ON a.grant_id = g.id
WHERE r.hash = ? AND r.spent_at IS NOT NULL AND g.client_id = ? AND g.revoked_at IS NULL AND a.answer IS NOT NULL AND a.created_at > ?`,
		hash, clientID, s.Now().Add(-RepeatLifetime)).Scan(ctx, &g.ID, &g.PausedAt, &suspended, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find answer: %w", err)
	}
	plain, err := o.aead.Open(nil, nil, sealed, []byte(g.ID))
	switch {
	case err != nil: // of another token, client, form or key
		return nil, nil
	case !g.PausedAt.IsZero():
		return nil, ErrPaused
	case suspended:
		return nil, fault.New(fault.Conflict, "the member is suspended")
	}
	return plain, nil
}
