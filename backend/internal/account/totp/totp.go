// Package totp makes and checks the codes of an authenticator app: RFC 6238 with SHA-1, six digits
// and steps of 30 seconds, which every app supports.
package totp

import (
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	period = 30
	// skew is how many steps the clocks may differ.
	skew = 1
)

// Key is a secret as a person enters it into an app.
type Key struct {
	// Secret is in base32, Address an otpauth address with it.
	Secret, Address string
}

// NewKey generates the secret of an account at an issuer.
func NewKey(issuer, account string) (Key, error) {
	return keyOf(totp.GenerateOpts{Issuer: issuer, AccountName: account})
}

// KeyOf returns the key with a secret that NewKey generated.
func KeyOf(secret, issuer, account string) (Key, error) {
	raw, err := base32Of(secret)
	if err != nil {
		return Key{}, err
	}
	return keyOf(totp.GenerateOpts{Issuer: issuer, AccountName: account, Secret: raw})
}

func keyOf(o totp.GenerateOpts) (Key, error) {
	k, err := totp.Generate(o)
	if err != nil {
		return Key{}, fmt.Errorf("make one-time code key: %w", err)
	}
	return Key{Secret: k.Secret(), Address: k.URL()}, nil
}

var codePattern = regexp.MustCompile(`^[0-9]{6}$`)

// Clean removes the spaces that people type between digits.
func Clean(typed string) string { return strings.ReplaceAll(typed, " ", "") }

// IsCode reports whether a text has the form of a code.
func IsCode(text string) bool { return codePattern.MatchString(text) }

// StepOf returns the number of the step that a time is in.
func StepOf(at time.Time) int64 { return at.Unix() / period }

// Code returns the code of a step.
func Code(secret string, step int64) (string, error) {
	code, err := hotp.GenerateCodeCustom(secret, uint64(step), hotpOptions())
	if err != nil {
		return "", fmt.Errorf("make one-time code: %w", err)
	}
	return code, nil
}

func hotpOptions() hotp.ValidateOpts {
	return hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
}

// Check returns the step whose code was given: the present one or one beside it, and later than
// after, the step of the last code that was used. It returns false if the code is none of these.
func Check(secret, code string, at time.Time, after int64) (step int64, right bool) {
	for step = StepOf(at) - skew; step <= StepOf(at)+skew; step++ {
		ok, err := hotp.ValidateCustom(code, uint64(step), secret, hotpOptions())
		if err == nil && ok && step > after {
			return step, true
		}
	}
	return 0, false
}

func base32Of(secret string) ([]byte, error) {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		return nil, fmt.Errorf("read one-time code secret: %w", err)
	}
	return raw, nil
}
