package oauth

import (
	"errors"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
