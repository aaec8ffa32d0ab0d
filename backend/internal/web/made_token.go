package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// The cookies that carry what was made to the page that shows it: a token, and recovery codes.
const (
	madeCookie  = "kith_made"
	codesCookie = "kith_codes"
	// addedCookie carries the app password of a device.
	addedCookie = "kith_added"
	// feedCookie carries the address of a calendar feed.
	feedCookie = "kith_feed"
)

// madeToken is a new token, or new recovery codes, on its way to the one page that shows it. The
// form that creates it answers with a redirect, so that reloading the page does not create
// another. In between, only the browser holds it, in a cookie that is sealed
// under the session's secret: another session cannot use it, and nobody can forge it.
type madeToken struct {
	Name, Bearer string
	Codes        []string
}

// madeLifetime is how long the browser may take to load the page.
const madeLifetime = time.Minute

// handOver stores a new token in a cookie, encrypted, for the page that the browser is redirected to.
func (v *request) handOver(cookie string, made madeToken) error {
	sealed, err := made.seal(v.SessionSecret(v.R))
	if err != nil {
		return err
	}
	v.SetCookie(v.W, cookie, sealed, madeLifetime)
	return nil
}

// takeMade returns what was made from the cookie, once; nil if there is nothing.
func (v *request) takeMade(cookie string) *madeToken {
	c, err := v.R.Cookie(v.CookieName(cookie))
	if err != nil || v.R.Method == http.MethodHead { // HEAD shows nothing
		return nil
	}
	v.ClearCookie(v.W, cookie)
	return unsealMade(v.SessionSecret(v.R), c.Value)
}

func (m madeToken) seal(secret string) (string, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode made token: %w", err)
	}
	sealer, err := madeSealer(secret)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, sealer.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return "", fmt.Errorf("seal made token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(nonce, nonce, plain, nil)), nil
}

// unsealMade returns the value that was sealed under the same secret, or nil.
func unsealMade(secret, sealed string) *madeToken {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil
	}
	sealer, err := madeSealer(secret)
	if err != nil || len(data) < sealer.NonceSize() {
		return nil
	}
	plain, err := sealer.Open(nil, data[:sealer.NonceSize()], data[sealer.NonceSize():], nil)
	if err != nil {
		return nil
	}
	made := &madeToken{}
	if json.Unmarshal(plain, made) != nil {
		return nil
	}
	return made
}

// madeSealer returns AES-GCM under a separate key that is derived from the secret.
func madeSealer(secret string) (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("kith made token"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("make sealer: %w", err)
	}
	return cipher.NewGCM(block)
}
