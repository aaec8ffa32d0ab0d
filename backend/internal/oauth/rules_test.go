package oauth_test

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"pgregory.net/rapid"
)

// all are all scopes.
func all() []string { return []string{"connections", "timeline", "organize", "write"} }

func TestCheckChallenge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		challenge string
		ok        bool
	}{
		"of the RFC": {challenge, true}, "of zeros": {strings.Repeat("A", 43), true}, "nothing": {"", false}, "a character less": {challenge[1:], false}, "a character more": {challenge + "A", false},
		"padding": {challenge + "=", false}, "the other alphabet": {"+/" + challenge[2:], false}, "bits that no hash has": {strings.Repeat("A", 42) + "B", true}, "any letters": {"-_" + strings.Repeat("z", 41), true}, "hexadecimal": {strings.Repeat("0f", 32), false},
		"a line break inside": {challenge[:9] + "\n" + challenge[9:], false}, "a line break for a character": {challenge[:42] + "\n", false}, "line breaks around": {"\r\n" + challenge, false}, "a space": {challenge[:42] + " ", false},
		"no text": {challenge[:42] + "\xff", false}, "a plain verifier": {strings.Repeat("v", 64), false},
	} {
		if err := oauth.CheckChallenge(c.challenge); err == nil != c.ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyChallenge(t *testing.T) {
	t.Parallel()
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	for name, c := range map[string]struct {
		verifier string
		ok       bool
	}{
		"of the RFC": {verifier, true}, "every character": {unreserved, true}, "42": {strings.Repeat("v", 42), false}, "43": {strings.Repeat("v", 43), true}, "128": {strings.Repeat("v", 128), true}, "129": {strings.Repeat("v", 129), false},
		"nothing": {"", false}, "a plus": {strings.Repeat("v", 42) + "+", false}, "an equals sign": {strings.Repeat("v", 43) + "=", false}, "a space": {strings.Repeat("v", 42) + " ", false},
		"43 letters of two bytes": {strings.Repeat("é", 43), false}, "a NUL": {strings.Repeat("v", 42) + "\x00", false}, "no text": {strings.Repeat("v", 42) + "\xff", false},
	} {
		if got := oauth.VerifyChallenge(challengeOf(c.verifier), c.verifier); got != c.ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !oauth.VerifyChallenge(challenge, verifier) {
		t.Error("the example of the RFC fails")
	}
	for name, wrong := range map[string]string{"plain": verifier, "none": "", "padded": challenge + "=", "in capitals": strings.ToUpper(challenge), "cut": challenge[:42]} {
		if oauth.VerifyChallenge(wrong, verifier) {
			t.Errorf("%s passes", name)
		}
	}
}

func TestOnlyItsOwnVerifierPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.StringMatching(`[A-Za-z0-9._~-]{43,128}`)
		a, b := form.Draw(t, "a"), rapid.OneOf(form, rapid.String()).Draw(t, "b")
		if oauth.CheckChallenge(challengeOf(a)) != nil || !oauth.VerifyChallenge(challengeOf(a), a) {
			t.Fatalf("%q does not pass", a)
		}
		if a != b && oauth.VerifyChallenge(challengeOf(a), b) {
			t.Fatalf("%q passes for %q", b, a)
		}
	})
}

func FuzzVerifyChallenge(f *testing.F) {
	f.Add(challenge, verifier)
	f.Add(verifier, verifier)
	f.Add(challengeOf(""), "")
	form := regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)
	f.Fuzz(func(t *testing.T, challenge, verifier string) {
		fits := form.MatchString(verifier) && !strings.HasSuffix(verifier, "\n") && challengeOf(verifier) == challenge
		if oauth.VerifyChallenge(challenge, verifier) != fits {
			t.Errorf("%q for %q", verifier, challenge)
		}
		if fits && oauth.CheckChallenge(challenge) != nil {
			t.Errorf("%q is not accepted", challenge)
		}
	})
}

func TestParseScopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, want string }{
		"one": {"timeline", "timeline"}, "in the order of the request": {"write timeline", "write timeline"}, "each once": {"timeline write timeline", "timeline write"},
		"empty": {"", ""}, "of OpenID Connect": {"openid profile email offline_access", ""}, "one with those of OpenID Connect": {"openid timeline offline_access", "timeline"},
	} {
		got, err := oauth.ParseScopes(c.raw, all())
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, raw := range map[string]string{
		"unknown": "everything", "unknown among others": "timeline everything", "unknown first": "everything timeline", "unknown with one of OpenID Connect": "openid everything",
		"a space": " ", "a space before": " timeline", "a space behind": "timeline ", "two spaces": "timeline  write", "a tab": "timeline\twrite", "a line break": "timeline\nwrite", "a comma": "timeline,write",
		"in capitals": "TIMELINE", "OpenID in capitals": "OpenID", "the beginning of one": "time", "more than one": "timelines", "another space": "timeline\u00a0write", "no text": "\xff", "a NUL": "timeline\x00",
	} {
		if got, err := oauth.ParseScopes(raw, all()); got != nil || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// scopesProperty holds for every text: the result contains only scopes that exist and
// that the text names, each once.
func scopesProperty(raw string) string {
	got, err := oauth.ParseScopes(raw, all())
	if err != nil {
		if got != nil {
			return "scopes are returned with an error"
		}
		return ""
	}
	if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		return "one twice"
	}
	for _, scope := range got {
		if !slices.Contains(all(), scope) || !slices.Contains(strings.Split(raw, " "), scope) {
			return "one too many"
		}
	}
	for named := range strings.SplitSeq(raw, " ") {
		if raw != "" && !slices.Contains(append(got, "openid", "profile", "email", "offline_access"), named) {
			return "a scope is missing"
		}
	}
	again, err := oauth.ParseScopes(strings.Join(got, " "), all())
	if err != nil || !slices.Equal(again, got) {
		return "the result is parsed differently"
	}
	return ""
}

func anyScopes() *rapid.Generator[string] {
	part := rapid.SampledFrom(append(all(), " ", " ", " ", "  ", "openid", "offline_access", "account", "Write", ",", "\t", "é"))
	return rapid.Map(rapid.SliceOfN(part, 0, 9), func(parts []string) string { return strings.Join(parts, "") })
}

func TestScopesAreNeverInvented(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if raw := anyScopes().Draw(t, "raw"); scopesProperty(raw) != "" {
			t.Fatalf("%s: %q", scopesProperty(raw), raw)
		}
	})
}

func FuzzParseScopes(f *testing.F) {
	for _, seed := range []string{"", "timeline", "timeline write", " timeline", "timeline  write", "timeline timeline", "everything"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if wrong := scopesProperty(raw); wrong != "" {
			t.Errorf("%s: %q", wrong, raw)
		}
	})
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	const asked = "connections timeline write"
	for name, c := range map[string]struct{ asked, chosen, want string }{ // nothing wanted: refused
		"all": {asked, asked, asked}, "some": {asked, "connections write", "connections write"}, "in the order asked for": {asked, "write connections", "connections write"}, "odd spaces": {asked, "  write\ttimeline ", "timeline write"},
		"none": {asked, "", ""}, "spaces": {asked, "  ", ""}, "another": {asked, "account", ""}, "one too many": {asked, asked + " account", ""}, "one twice": {asked, "write write", ""}, "the beginning of one": {asked, "time", ""},
		"nothing asked for": {"", "write", ""}, "nothing at all": {"", "", ""},
	} {
		got, err := oauth.Narrow(c.asked, c.chosen)
		if got != c.want || err == nil != (c.want != "") || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestNarrowNeverWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		subset := rapid.SliceOfDistinct(rapid.SampledFrom(all()), rapid.ID)
		asked := subset.Draw(t, "asked")
		chosen := rapid.OneOf(rapid.Map(subset, func(s []string) string { return strings.Join(s, " ") }), anyScopes()).Draw(t, "chosen")
		got, err := oauth.Narrow(strings.Join(asked, " "), chosen)
		wanted := strings.Fields(chosen)
		legal := len(wanted) > 0 && !slices.ContainsFunc(wanted, func(s string) bool { return !slices.Contains(asked, s) }) &&
			len(slices.Compact(slices.Sorted(slices.Values(wanted)))) == len(wanted)
		if err == nil != legal {
			t.Fatalf("%q of %q: %q, %v", chosen, asked, got, err)
		}
		if want := slices.DeleteFunc(asked, func(s string) bool { return !slices.Contains(wanted, s) }); legal && got != strings.Join(want, " ") {
			t.Fatalf("%q of %q: %q", chosen, asked, got)
		}
	})
}

func TestCheckClientName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"": true, "Agent": true, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false, "エージェント 🤖": true, "وكيل": true,
		"Claude\u202egro.live": false, "Cl\u200baude": false, "Claude\u2066": false, "Claude\U000e0041": false, "Claude\u2800": false, "Cla\u00adude": false, "Claude\ufe0f": false,
	} {
		if err := oauth.CheckClientName(name); err == nil != ok || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestShownName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Agent Smith": "Agent Smith", "Claude\u202egro.live": "Claudegro.live", "\u200bCl\u2060au\U000e0041de\ufeff": "Claude", "\u200b\u3164": "", "\u2800 \u0301": "",
	} {
		if got := oauth.ShownName(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, prefix := range []string{"", oauth.PrefixAccessToken, oauth.PrefixRefreshToken} {
		for range 20 {
			secret, err := oauth.Generate(prefix)
			rest, ok := strings.CutPrefix(secret, prefix)
			if raw, decodeErr := base64.RawURLEncoding.DecodeString(rest); err != nil || !ok || decodeErr != nil || len(raw) != 32 || seen[rest] {
				t.Fatalf("got %q, %v", secret, err)
			}
			seen[rest] = true
			if hash := oauth.Hash(secret); strings.Contains(hash, rest) || hash != oauth.Hash(secret) || hash == oauth.Hash(rest+"x") {
				t.Errorf("the hash is %q", hash)
			}
		}
	}
}
