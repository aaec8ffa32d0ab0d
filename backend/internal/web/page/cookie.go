package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
)

// Names of the cookies. Over https they get the prefix __Host-, which browsers accept
// only from this host, for all of its paths, over https: no other host of the domain
// can set one.
const (
	SessionCookie = "kith_session"
	FormCookie    = "kith_form"
	hostPrefix    = "__Host-"
)

// TokenField is the form field that holds the form's token.
const TokenField = "form_token"

// CookieName returns the name that a cookie has on this site.
func (s *Site) CookieName(name string) string {
	if s.secure {
		return hostPrefix + name
	}
	return name
}

// SetCookie sets a cookie for a duration; 0 means until the browser is closed.
func (s *Site) SetCookie(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: s.CookieName(name), Value: value, Path: "/", MaxAge: int(lifetime / time.Second),
		Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// ClearCookie makes the browser forget a cookie.
func (s *Site) ClearCookie(w http.ResponseWriter, name string) {
	s.SetCookie(w, name, "", -time.Second)
}

var secretPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// CookieSecret returns the secret in a cookie, or nothing if it is malformed.
func (s *Site) CookieSecret(r *http.Request, name string) string {
	c, err := r.Cookie(s.CookieName(name))
	if err != nil || !secretPattern.MatchString(c.Value) {
		return ""
	}
	return c.Value
}

// SessionSecret returns the secret of the browser's session, or nothing.
func (s *Site) SessionSecret(r *http.Request) string { return s.CookieSecret(r, SessionCookie) }

// FormSecret returns the secret that protects the forms of a browser without a session.
// It sets one if the browser has none.
func (s *Site) FormSecret(w http.ResponseWriter, r *http.Request) (string, error) {
	if secret := s.CookieSecret(r, FormCookie); secret != "" {
		return secret, nil
	}
	secret, err := account.NewSecret("")
	if err == nil && r.Method != http.MethodPost {
		s.SetCookie(w, FormCookie, secret, 0)
	}
	return secret, err
}

// formToken derives the token of a browser's forms from the secret in its cookie. The
// token does not reveal the secret.
func formToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("kith form token"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func validToken(secret, given string) bool {
	return secret != "" && hmac.Equal([]byte(formToken(secret)), []byte(given))
}
