package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"pgregory.net/rapid"
)

func TestCheckUsername(t *testing.T) {
	t.Parallel()
	const form, reserved = "use 3 to 30", "reserved"
	cases := []struct {
		what, name string
		refusal    string // part of the message; empty when the name may be taken
	}{
		{"letters", "ana", ""},
		{"letters, digits and hyphens", "ana-lopez-2", ""},
		{"digits only", "007", ""},
		{"a digit first", "2pac", ""},
		{"hyphens in a row", "a--b", ""},
		{"30 characters", strings.Repeat("a", 30), ""},
		{"30 characters with hyphens", "a" + strings.Repeat("-", 28) + "a", ""},
		{"31 characters", strings.Repeat("a", 31), form},
		{"2 characters", "al", form},
		{"1 character", "a", form},
		{"empty", "", form},
		{"upper case", "Ana", form},
		{"upper case at the end", "anA", form},
		{"a hyphen first", "-ana", form},
		{"a hyphen last", "ana-", form},
		{"hyphens only", "---", form},
		{"an underscore", "ana_lopez", form},
		{"a dot", "ana.lopez", form},
		{"a space", "ana lopez", form},
		{"a space at the end", "ana ", form},
		{"a line break at the end", "ana\n", form},
		{"a line that fits among others", "no way\nana\nno way", form},
		{"an accent", "aña", form},
		{"a Cyrillic letter that looks Latin", "аna", form},
		{"a slash", "a/b", form},
		{"an escape", "%61na", form},
		{"the service", "kith", reserved},
		{"a path", "mcp", reserved},
		{"a path with a hyphen", "well-known", reserved},
		{"a role", "admin", reserved},
		{"the demo account", "sandbox", reserved},
		{"a reserved name in upper case", "Admin", form},
		{"a reserved name with more", "admin2", ""},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			err := account.CheckUsername(c.name)
			if account.IsUsername(c.name) != (c.refusal != form) {
				t.Errorf("IsUsername(%q) = %v", c.name, account.IsUsername(c.name))
			}
			if c.refusal == "" {
				if err != nil {
					t.Errorf("%q is refused: %v", c.name, err)
				}
				return
			}
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("%q: got %v, want a refusal with %q", c.name, err, c.refusal)
			}
		})
	}
}

// The pattern accepts the same names as the rule that is written out here.
func TestIsUsernameProperty(t *testing.T) {
	t.Parallel()
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789-"
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,33}`), rapid.StringN(0, 33, -1)).Draw(t, "name")
		want := len(name) >= 3 && len(name) <= 30 &&
			!strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && onlyOf(name, alphabet)
		if got := account.IsUsername(name); got != want {
			t.Fatalf("IsUsername(%q) = %v", name, got)
		}
	})
}

func onlyOf(s, alphabet string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(alphabet, r) })
}

func TestCheckEmail(t *testing.T) {
	t.Parallel()
	local := strings.Repeat("a", 64)
	domain := strings.Repeat("b", 50)
	cases := []struct {
		what, address string
		want          string // empty when it is refused
	}{
		{"bare", "ana@example.com", "ana@example.com"},
		{"upper case", "Ana.Lopez@Example.COM", "ana.lopez@example.com"},
		{"with a tag", "ana+kith@example.com", "ana+kith@example.com"},
		{"254 characters", local + "@" + strings.Repeat(domain+".", 3) + strings.Repeat("c", 36), local + "@" + strings.Repeat(domain+".", 3) + strings.Repeat("c", 36)},
		{"255 characters", local + "@" + strings.Repeat(domain+".", 3) + strings.Repeat("c", 37), ""},
		{"empty", "", ""},
		{"no @", "ana.example.com", ""},
		{"no local part", "@example.com", ""},
		{"no domain", "ana@", ""},
		{"two @", "ana@b@example.com", ""},
		{"with a name", "Ana <ana@example.com>", ""},
		{"in brackets", "<ana@example.com>", ""},
		{"two addresses", "ana@example.com, bob@example.com", ""},
		{"a space at the end", "ana@example.com ", ""},
		{"a line break", "ana@example.com\nBcc: all@example.com", ""},
		{"with a comment", "ana@example.com (Ana)", ""},
		{"quoted", `"ana lopez"@example.com`, ""},
		{"a dot at the end of the local part", "ana.@example.com", ""},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got, err := account.CheckEmail(c.address)
			if got != c.want || (c.want == "") != fault.Is(err, fault.Invalid) {
				t.Errorf("CheckEmail(%q) = %q, %v", c.address, got, err)
			}
		})
	}
}

func TestCheckPlan(t *testing.T) {
	t.Parallel()
	for plan, ok := range map[string]bool{"free": true, "pro": true, "": false, "Pro": false, "team": false} {
		err := account.CheckPlan(plan)
		if ok && err != nil || !ok && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: got %v", plan, err)
		}
	}
}

func TestMaySignIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m               account.Member
		active, maySign bool
	}{
		"with a password":    {account.Member{PasswordHash: "x"}, true, true},
		"without a password": {account.Member{}, true, false},
		"suspended":          {account.Member{PasswordHash: "x", SuspendedAt: time.Now()}, false, false},
		"a demo account":     {account.Member{PasswordHash: "x", ReadOnly: true}, false, false},
	} {
		if c.m.Active() != c.active || c.m.MaySignIn() != c.maySign {
			t.Errorf("%s: active %v, may sign in %v", name, c.m.Active(), c.m.MaySignIn())
		}
	}
}
