package password_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/fault"
	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, password string
		ok             bool
	}{
		{"the shortest", phrase(password.MinLength), true},
		{"one too short", phrase(password.MinLength - 1), false},
		{"empty", "", false},
		{"the longest", phrase(password.MaxLength), true},
		{"one too long", phrase(password.MaxLength + 1), false},
		{"characters are counted, not bytes", strings.Repeat("éàüøşñ", password.MaxLength/6), true},
		{"few characters of many bytes", strings.Repeat("語", password.MinLength-1), false},
		{"white space counts", "violet kettle drum", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := password.Check(c.password)
			if c.ok && err != nil || !c.ok && !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// phrase returns n characters that make a good password.
func phrase(n int) string { return strings.Repeat("violet kettle drum ", 1+n/19)[:n] }

func TestCheckRefusesWhatIsEasyToGuess(t *testing.T) {
	t.Parallel()
	for _, guess := range []string{
		"password12", "Password123!", "P@ssw0rd2024", "p455w0rd!!!", "passwordpassword", "PasswordPassword1", "letmein2024",
		"iloveyou!!!", "1loveyou1234", "qwertyuiop", "Qwertyuiop1", "qwertz12345", "1234567890", "0987654321", "12345678901234",
		"123-456-7890", "aaaaaaaaaa", "abababababab", "abcabcabcabc1", "abcdefghij", "zyxwvutsrq", "1qaz2wsx3edc", "q1w2e3r4t5y6",
		"asdfghjklasdfghjkl", "sunshine&monkey", "Summer2024!", "welcome.1234", "correct horse battery staple", "lkjhgfdsapoiuytrewq",
	} {
		if err := password.Check(guess); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: got %v", guess, err)
		}
	}
}

func TestCheckLetsThroughWhatIsNot(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"correct horse battery", "violet kettle drum", "Tr0ub4dor&3xyz", "8f3kq0zw1m", "sunshine over the harbour wall",
		"дом у реки и лес", "password of the lighthouse keeper", "27182818284590", "hunter2-hunter2-kettle",
	} {
		if err := password.Check(good, "ana-lopez", "al@people.example"); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestCheckRefusesTheMembersNames(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, password string
		names          []string
		ok             bool
	}{
		{"the username", "violet ana-lopez drum", []string{"ana-lopez"}, false},
		{"in other letters", "violet ANA-Lopez drum", []string{"ana-lopez"}, false},
		{"the address's name", "violet a.lopez drum", []string{"ana", "A.Lopez@people.example"}, false},
		{"the whole address", "a.lopez@people.example", []string{"a.lopez@people.example"}, false},
		{"the address's domain alone", "violet people.example", []string{"a.lopez@people.example"}, true},
		{"a name of two letters", "violet kettle drum", []string{"vi@people.example"}, true},
		{"an empty name", "violet kettle drum", []string{"", "@"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := password.Check(c.password, c.names...); c.ok != (err == nil) || !c.ok && !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	const right = "correct horse ☂ staple"
	hash, err := password.Hash(right)
	if err != nil {
		t.Fatal(err)
	}
	if !password.Verify(hash, right) {
		t.Error("the password does not match its hash")
	}
	for _, wrong := range []string{"", "correct horse ☂ stapl", right + " ", strings.ToUpper(right), "another one"} {
		if password.Verify(hash, wrong) {
			t.Errorf("%q matches the hash of %q", wrong, right)
		}
	}
	again, err := password.Hash(right)
	if err != nil || again == hash {
		t.Errorf("no fresh salt: %s, %v", again, err)
	}
	if !password.Verify(again, right) {
		t.Error("the password does not match its second hash")
	}
}

// Members' passwords use 19 MiB and two passes, unless another cost is set.
func TestDefaultCost(t *testing.T) {
	t.Parallel()
	for name, hash := range map[string]func(string) (string, error){"Hash": password.Hash, "the zero Cost": password.Cost{}.Hash} {
		if got, err := hash("violet kettle drum"); err != nil || !strings.HasPrefix(got, "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		cost   password.Cost
		prefix string
	}{
		{"the least", password.Cost{MemoryKiB: 8, Passes: 1}, "$argon2id$v=19$m=8,t=1,p=1$"},
		{"memory alone", password.Cost{MemoryKiB: 64}, "$argon2id$v=19$m=64,t=2,p=1$"},
		{"many passes", password.Cost{MemoryKiB: 8, Passes: 16}, "$argon2id$v=19$m=8,t=16,p=1$"},
		{"more passes than Verify takes", password.Cost{MemoryKiB: 8, Passes: 17}, ""},
		{"more memory than Verify takes", password.Cost{MemoryKiB: 256*1024 + 1, Passes: 1}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hash, err := c.cost.Hash("violet kettle drum")
			if (err == nil) != (c.prefix != "") || !strings.HasPrefix(hash, c.prefix) {
				t.Fatalf("got %s, %v", hash, err)
			}
			if err == nil && (!password.Verify(hash, "violet kettle drum") || password.Verify(hash, "violet kettle drums")) {
				t.Error("Verify parses another cost from the hash")
			}
		})
	}
}

// The password of the reference implementation's own tests (its src/test.c), and
// their salt, "somesalt".
const (
	argon2Password = "password"
	argon2Salt     = "c29tZXNhbHQ"
)

func TestVerifyReadsWhatOtherToolsWrote(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, hash string }{
		{"256 KiB", "$argon2id$v=19$m=256,t=2,p=1$" + argon2Salt + "$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"},
		{"256 KiB, two lanes", "$argon2id$v=19$m=256,t=2,p=2$" + argon2Salt + "$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"},
		{"64 MiB", "$argon2id$v=19$m=65536,t=2,p=1$" + argon2Salt + "$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !password.Verify(c.hash, argon2Password) {
				t.Error("the password does not match")
			}
			if password.Verify(c.hash, argon2Password+"x") {
				t.Error("another password matches")
			}
		})
	}
}

func TestGarbageBelongsToNoPassword(t *testing.T) {
	t.Parallel()
	const key = "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	encoded := func(params string) string { return "$argon2id$v=19$" + params + "$" + argon2Salt + "$" + key }
	cases := []struct{ name, hash string }{
		{"empty", ""},
		{"dollars", "$$$$$"},
		{"no hash of ours", "$2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"},
		{"another argon2", "$argon2i$v=19$m=256,t=2,p=1$" + argon2Salt + "$" + key},
		{"another version", "$argon2id$v=16$m=256,t=2,p=1$" + argon2Salt + "$" + key},
		{"no version", "$argon2id$$m=256,t=2,p=1$" + argon2Salt + "$" + key},
		{"a part more", encoded("m=256,t=2,p=1") + "$x"},
		{"a part less", "$argon2id$v=19$m=256,t=2,p=1$" + argon2Salt},
		{"no passes", encoded("m=256,t=0,p=1")},
		{"no lanes", encoded("m=256,t=2,p=0")},
		{"more lanes than fit", encoded("m=256,t=2,p=256")},
		{"negative memory", encoded("m=-1,t=2,p=1")},
		{"four terabytes", encoded("m=4294967295,t=2,p=1")},
		{"passes for days", encoded("m=256,t=4294967295,p=1")},
		{"no parameters", encoded("")},
		{"parameters in words", encoded("m=a,t=b,p=c")},
		{"salt that is no base64", "$argon2id$v=19$m=256,t=2,p=1$*$" + key},
		{"key that is no base64", "$argon2id$v=19$m=256,t=2,p=1$" + argon2Salt + "$*"},
		{"no key", "$argon2id$v=19$m=256,t=2,p=1$" + argon2Salt + "$"},
		{"a longer key", encoded("m=256,t=2,p=1") + strings.Repeat("A", 400)},
		{"a cut key", encoded("m=256,t=2,p=1")[:len(encoded("m=256,t=2,p=1"))-4]},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if password.Verify(c.hash, argon2Password) {
				t.Errorf("%q was accepted", c.hash)
			}
		})
	}
}

func TestVerifyNeverPanics(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"", "argon2id", "v=19", "m=8,t=1,p=1", "m=0,t=0,p=0", argon2Salt, "AAAA"}),
		rapid.StringMatching(`[a-z0-9=,]{0,12}`), rapid.String(),
		rapid.Custom(func(t *rapid.T) string {
			// Cheap or rejected: a costly hash only takes long, it does not panic.
			n := rapid.SampledFrom([]int64{-1, 0, 1, 2, 8, 1 << 31, 1 << 40})
			return fmt.Sprintf("m=%d,t=%d,p=%d", n.Draw(t, "m"), n.Draw(t, "t"), n.Draw(t, "p"))
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part, 0, 7).Draw(t, "parts")
		if rapid.Bool().Draw(t, "nearly right") {
			parts = []string{"", "argon2id", "v=19", part.Draw(t, "parameters"), part.Draw(t, "salt"), part.Draw(t, "key")}
		}
		hash := strings.Join(parts, "$")
		if password.Verify(hash, "no such password") {
			t.Fatalf("%q was accepted", hash)
		}
	})
}

// An unmatched hash has the same parts as others, and no password matches it.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	cost := password.Cost{MemoryKiB: 8, Passes: 1}
	first, err := cost.Unmatched()
	if err != nil {
		t.Fatal(err)
	}
	second, err := cost.Unmatched()
	if err != nil {
		t.Fatal(err)
	}
	real, err := cost.Hash("violet kettle drum")
	if err != nil {
		t.Fatal(err)
	}
	if first == second || len(first) != len(real) || !strings.HasPrefix(first, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Errorf("%s, %s beside %s", first, second, real)
	}
	if password.Verify(first, "") || password.Verify(first, "violet kettle drum") {
		t.Error("a password matches")
	}
}
