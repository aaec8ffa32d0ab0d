package account_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		bearer, err := account.GenerateToken()
		if err != nil {
			t.Fatal(err)
		}
		secret, ok := strings.CutPrefix(bearer, "kith_pat_")
		raw, err := base64.RawURLEncoding.DecodeString(secret)
		if !ok || err != nil || len(raw) != 32 {
			t.Fatalf("%q is not the prefix and 32 bytes: %v", bearer, err)
		}
		if seen[bearer] {
			t.Fatalf("%q was made twice", bearer)
		}
		seen[bearer] = true
	}
}

// The first is the vector of FIPS 180-2, "abc".
func TestHash(t *testing.T) {
	t.Parallel()
	for bearer, want := range map[string]string{
		"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"":    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	} {
		if got := account.HashSecret(bearer); got != want {
			t.Errorf("Hash(%q) = %s, want %s", bearer, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	cases := []struct {
		what, name string
		ok         bool
	}{
		{"one character", "x", true},
		{"a hundred", strings.Repeat("é", 100), true},
		{"none", "", false},
		{"a hundred and one", strings.Repeat("x", 101), false},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			err := account.CheckName(c.name)
			if c.ok && err != nil || !c.ok && !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}
