package web

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
	sessionCookie = "kith_session"
	formCookie    = "kith_form"
	// providerCookie binds sign-ins at the identity provider to their browser. It is
	// separate from the form's cookie, which ends when the first tab signs in.
	providerCookie = "kith_provider"
	// madeCookie carries a new token to the page that shows it.
	madeCookie = "kith_made"
	// deviceCookie identifies a device on which a member signed in before.
	deviceCookie = "kith_device"
	hostPrefix   = "__Host-"
)

// tokenField is the form field that holds the form's token.
const tokenField = "form_token"

func (web *Web) cookieName(name string) string {
	if web.secure {
		return hostPrefix + name
	}
	return name
}

// setCookie sets a cookie for a duration; 0 means until the browser is closed.
func (web *Web) setCookie(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: web.cookieName(name), Value: value, Path: "/", MaxAge: int(lifetime / time.Second),
		Secure: web.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (web *Web) clearCookie(w http.ResponseWriter, name string) {
	web.setCookie(w, name, "", -time.Second)
}

var secretPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// cookieSecret returns the secret in a cookie, or nothing if it is malformed.
func (web *Web) cookieSecret(r *http.Request, name string) string {
	c, err := r.Cookie(web.cookieName(name))
	if err != nil || !secretPattern.MatchString(c.Value) {
		return ""
	}
	return c.Value
}

func (web *Web) sessionSecret(r *http.Request) string { return web.cookieSecret(r, sessionCookie) }

// formSecret returns the secret that protects the forms of a browser without a session.
// It sets one if the browser has none.
func (web *Web) formSecret(w http.ResponseWriter, r *http.Request) (string, error) {
	if secret := web.cookieSecret(r, formCookie); secret != "" {
		return secret, nil
	}
	secret, err := account.NewSecret("")
	if err == nil && r.Method != http.MethodPost {
		web.setCookie(w, formCookie, secret, 0)
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
