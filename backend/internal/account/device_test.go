package account_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
)

func TestDeviceOf(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                     "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0":              "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15":                      "Safari on macOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1":    "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36":                            "Chrome on Android",
		"Mozilla/5.0 (Linux; Android 13; SM-S901B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36": "Samsung Internet on Android",
		"Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/138.0.7204.33 Mobile/15E148 Safari/604.1":      "Chrome on iPad",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36":                             "Chrome on ChromeOS",
		"curl/8.5.0":                        "an unknown browser",
		"":                                  "an unknown browser",
		"<script>alert(1)</script> Windows": "an unknown browser on Windows",
		"Firefox/1":                         "Firefox",
		strings.Repeat("x", 10_000) + " Firefox/1": "an unknown browser",
	} {
		if got := account.DeviceOf(header); got != want {
			t.Errorf("%.80q: %q, want %q", header, got, want)
		}
	}
}

// Whatever the header contains, the result is short and from the closed set.
func FuzzDeviceOf(f *testing.F) {
	f.Add("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\x00\xff")
	f.Fuzz(func(t *testing.T, header string) {
		if got := account.DeviceOf(header); got == "" || len(got) > 40 || strings.ContainsAny(got, "<>&\"'\n\x00") {
			t.Errorf("%q becomes %q", header, got)
		}
	})
}

func TestCoarseAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.77": "203.0.113.0/24", "::ffff:203.0.113.77": "203.0.113.0/24", "203.0.113.0/24": "203.0.113.0/24",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1::/48", "2001:db8:1:2::/64": "2001:db8:1::/48", "2001:db8:1::/48": "2001:db8:1::/48",
		"fe80::1%eth0": "fe80::/48", "::1": "::/48", "127.0.0.1": "127.0.0.0/24",
		"": "", "localhost": "", "203.0.113.77:80": "", "<b>": "",
	} {
		got := account.CoarseAddress(address)
		if got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
		if again := account.CoarseAddress(got); again != got {
			t.Errorf("%q becomes %q, and that %q", address, got, again)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]account.SecurityEvent{
		"Signed in":                             {Kind: account.SignedIn, Times: 1},
		"Signed in on a new device":             {Kind: account.SignedInNew, Times: 1},
		"Failed sign-in":                        {Kind: account.SignInFailed, Times: 1},
		"12 failed sign-ins":                    {Kind: account.SignInFailed, Times: 12},
		"Connected the agent “Ada”":             {Kind: account.AgentAllowed, Times: 1},
		"Revoked the access of “Ada”":           {Kind: account.AccessRevoked, Times: 1},
		"something_of_a_newer_version":          {Kind: "something_of_a_newer_version", Times: 1},
		"Made the personal token “Ada”":         {Kind: account.TokenCreated, Times: 1},
		"Added the device “Ada”":                {Kind: account.DeviceAdded, Times: 1},
		"Made the calendar feed “Ada”":          {Kind: account.FeedAdded, Times: 1},
		"Added the second factor “Ada”":         {Kind: account.FactorAdded, Times: 1},
		"Downloaded a file with people":         {Kind: account.PeopleExported, Times: 1},
		"Reduced the access of the agent “Ada”": {Kind: account.AgentNarrowed, Times: 1},
		"Ended the session of another browser":  {Kind: account.SessionEnded, Times: 1},
	} {
		if got := e.Sentence("Ada"); got != want {
			t.Errorf("%s: %q, want %q", e.Kind, got, want)
		}
	}
	if got := (&account.SecurityEvent{Kind: account.AccessRevoked}).Sentence(""); got != "Revoked access" {
		t.Errorf("without a name: %q", got)
	}
}

// The member gets one message about failed sign-ins, when their number reaches ManyFailures.
func TestTells(t *testing.T) {
	t.Parallel()
	for times := 1; times <= 2*account.ManyFailures; times++ {
		e := account.SecurityEvent{Kind: account.SignInFailed, Times: times}
		if e.Notifies() != (times == account.ManyFailures) {
			t.Errorf("%d failures: told is %t", times, e.Notifies())
		}
	}
	for kind, want := range map[account.EventKind]bool{
		account.SignedIn: false, account.SignedInNew: true, account.AgentAllowed: true, account.TokenCreated: true, account.DeviceAdded: true, account.FeedAdded: true, account.EmailChanged: true,
		account.SignedOut: false, account.AgentPaused: false, account.AccountExported: true, account.NotMe: false,
	} {
		if e := (account.SecurityEvent{Kind: kind, Times: 1}); e.Notifies() != want {
			t.Errorf("%s: told is %t", kind, e.Notifies())
		}
	}
}
