package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
)

// deviceCookie identifies a device on which a member signed in before.
const deviceCookie = "kith_device"

// deviceLifetime is how long a browser counts as a known device after a sign-in.
const deviceLifetime = 365 * 24 * time.Hour

// rememberDevice makes the browser a known device of the member, whose password
// attempts have their own budget. The cookie holds a random name, its expiry, and a MAC
// of both keyed with the hash of the member's password. So nothing is stored, it cannot
// be forged without the database, and a new password invalidates all such cookies. The
// cookie gives no access: signing in still needs the password.
func (v *request) rememberDevice(m *account.Member) error {
	name, err := account.NewSecret("")
	if err != nil {
		return err
	}
	named := name + "." + strconv.FormatInt(v.Now().Add(deviceLifetime).Unix(), 10)
	v.SetCookie(v.W, deviceCookie, named+"."+deviceMAC(m, m.PasswordHash, named), deviceLifetime)
	return nil
}

// knownDevice returns the name of the browser as a known device of the member; empty if
// it is none.
func (v *request) knownDevice(m *account.Member) string {
	c, err := v.R.Cookie(v.CookieName(deviceCookie))
	if err != nil || m == nil || !m.MaySignIn() {
		return ""
	}
	end := strings.LastIndexByte(c.Value, '.')
	if end < 0 || !v.validDevice(m, c.Value[:end], c.Value[end+1:]) {
		return ""
	}
	name, until, _ := strings.Cut(c.Value[:end], ".")
	if at, err := strconv.ParseInt(until, 10, 64); err != nil || at <= v.Now().Unix() {
		return ""
	}
	return name
}

// validDevice reports whether a MAC is that of a device, by the member's hash or by the one that
// this request replaced.
func (v *request) validDevice(m *account.Member, named, mac string) bool {
	if hmac.Equal([]byte(deviceMAC(m, m.PasswordHash, named)), []byte(mac)) {
		return true
	}
	return v.cheaperHash != "" && hmac.Equal([]byte(deviceMAC(m, v.cheaperHash, named)), []byte(mac))
}

func deviceMAC(m *account.Member, hash, named string) string {
	mac := hmac.New(sha256.New, []byte(hash))
	mac.Write([]byte("kith known device " + string(m.ID) + " " + named))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
