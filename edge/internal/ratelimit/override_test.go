package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

func TestParseOverride(t *testing.T) {
	t.Parallel()
	for input, test := range map[string]struct {
		quota  int
		window time.Duration
		err    string // a part of it; none if empty
	}{
		"120/60":                    {120, time.Minute, ""},
		"1/1":                       {1, time.Second, ""},
		"1000000000/86400":          {1_000_000_000, 24 * time.Hour, ""},
		"off":                       {0, 0, ""},
		"":                          {err: "such as 120/60, nor off"},
		"120":                       {err: "such as 120/60, nor off"},
		"OFF":                       {err: "such as 120/60, nor off"},
		"0/60":                      {err: `quota is not a number from 1 to 1000000000 ("off" lifts the limit)`},
		"1000000001/60":             {err: "quota is not"},
		"-1/60":                     {err: "quota is not"},
		"+1/60":                     {err: "quota is not"},
		"1e3/60":                    {err: "quota is not"},
		" 1/60":                     {err: "quota is not"},
		"/60":                       {err: "quota is not"},
		"9999999999999999999999/60": {err: "quota is not"},
		"120/":                      {err: "window is not a number of seconds from 1 to 86400"},
		"120/0":                     {err: "window is not"},
		"120/86401":                 {err: "window is not"},
		"120/1m":                    {err: "window is not"},
		"120/60/1":                  {err: "window is not"},
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			quota, window, err := ratelimit.ParseOverride(input)
			if quota != test.quota || window != test.window || (err == nil) != (test.err == "") {
				t.Errorf("got %d, %s, %v", quota, window, err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), `"`+input+`"`)) {
				t.Errorf("got %q", err)
			}
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	defaults := ratelimit.Defaults()
	got, err := ratelimit.Apply(defaults, map[string]string{"mcp-sandbox": "1000/10", "login": "off"})
	if err != nil {
		t.Fatal(err)
	}
	want := ratelimit.Defaults()
	for i, p := range want {
		switch p.Name {
		case ratelimit.PolicyMCPSandbox:
			want[i].Quota, want[i].Window = 1000, 10*time.Second
		case ratelimit.PolicyLogin:
			want[i].Quota = 0
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(ratelimit.Defaults(), defaults); diff != "" {
		t.Errorf("the defaults were changed:\n%s", diff)
	}
}

func TestApplyNamesEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := ratelimit.Apply(ratelimit.Defaults(), map[string]string{"profil": "1/1", "batch": "lots", "jobs": "5/5"})
	want := `rate policy "batch": "lots" is not quota/window in seconds, such as 120/60, nor off
there is no rate policy "profil"; there are batch, calendar, dav, demo, directory, forms, identity, jobs, login, mcp, mcp-sandbox, oauth-authorize, oauth-register, oauth-token, photos, profile, settings`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, p := range ratelimit.Defaults() {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	for part, change := range map[string]func(*ratelimit.Policy){
		"name":        func(p *ratelimit.Policy) { p.Name = `a"b` },
		"64":          func(p *ratelimit.Policy) { p.Name = strings.Repeat("a", 65) },
		"1 to 64":     func(p *ratelimit.Policy) { p.Name = "" },
		"quota":       func(p *ratelimit.Policy) { p.Quota = -1 },
		"1000000000":  func(p *ratelimit.Policy) { p.Quota = ratelimit.MaxQuota + 1 },
		"window":      func(p *ratelimit.Policy) { p.Window = 1500 * time.Millisecond },
		"86400":       func(p *ratelimit.Policy) { p.Window = 25 * time.Hour },
		"credentials": func(p *ratelimit.Policy) { p.By = "" },
	} {
		p := perMinute
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: got %v", p, err)
		}
	}
}
