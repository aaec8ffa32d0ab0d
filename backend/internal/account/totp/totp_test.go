package totp_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account/totp"
)

// The vectors of RFC 6238, appendix B, for SHA-1, with the last six of their eight digits.
func TestVectors(t *testing.T) {
	t.Parallel()
	const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" // 12345678901234567890
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		when := time.Unix(at, 0)
		if got, err := totp.Code(secret, totp.StepOf(when)); err != nil || got != code {
			t.Errorf("%d: %s, %v", at, got, err)
		}
		if step, right := totp.Check(secret, code, when, 0); !right || step != at/30 {
			t.Errorf("%d: %d, %v", at, step, right)
		}
	}
}

// A code works one step early and one step late, but not after it or a later code was used.
func TestCheck(t *testing.T) {
	t.Parallel()
	key, err := totp.NewKey("Kith", "maria")
	if err != nil {
		t.Fatal(err)
	}
	const present = 1000
	at := time.Unix(present*30+10, 0)
	for step := int64(present - 3); step <= present+3; step++ {
		code, err := totp.Code(key.Secret, step)
		if err != nil {
			t.Fatal(err)
		}
		near := step >= present-1 && step <= present+1
		if got, right := totp.Check(key.Secret, code, at, 0); right != near || right && got != step {
			t.Errorf("step %d: %d, %v", step, got, right)
		}
		if _, right := totp.Check(key.Secret, code, at, step); right {
			t.Errorf("step %d works twice", step)
		}
	}
	if totp.IsCode("12345") || totp.IsCode("1234567") || totp.IsCode("12345a") || !totp.IsCode(totp.Clean(" 123 456 ")) {
		t.Error("the form of codes is wrong")
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	key, err := totp.NewKey("Kith", "maria@kith.example")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(key.Address)
	if err != nil || u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Kith:maria@kith.example" || u.Query().Get("secret") != key.Secret || len(key.Secret) != 32 {
		t.Errorf("%s, %v", key.Address, err)
	}
	if again, err := totp.KeyOf(key.Secret, "Kith", "maria@kith.example"); err != nil || again != key {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := totp.KeyOf("not base 32!", "Kith", "maria"); err == nil {
		t.Error("a wrong secret makes a key")
	}
}
