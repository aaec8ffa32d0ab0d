package sandbox_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones must load on machines without a zone database

	"github.com/kith-crm/kith/sandbox"
)

func TestDemoAccountComesFirst(t *testing.T) {
	t.Parallel()
	demo := sandbox.Build(someDay).Members[0]
	if demo.Username != sandbox.Username || !demo.Profile.Listed {
		t.Errorf("the first member is %+v", demo)
	}
	if !regexp.MustCompile(`^kith_pat_[a-z_]{20,}$`).MatchString(sandbox.Token) {
		t.Errorf("Token is %q", sandbox.Token)
	}
}

func TestMembersKeepTheRules(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	username := regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])$`)
	seen := map[string]bool{}
	for _, m := range d.Members {
		if !username.MatchString(m.Username) || seen[m.Username] || seen[m.Email] {
			t.Errorf("username %q or its e-mail is malformed or taken", m.Username)
		}
		seen[m.Username], seen[m.Email] = true, true
		if _, err := time.LoadLocation(m.Timezone); err != nil {
			t.Errorf("%s: %v", m.Username, err)
		}
		if !strings.HasSuffix(m.Email, ".example") || (m.Plan != "free" && m.Plan != "pro") {
			t.Errorf("%s: e-mail %q, plan %q", m.Username, m.Email, m.Plan)
		}
		checkProfile(t, m.Username, m.Profile)
		if d.Domains[m.Profile.Organization] == "" {
			t.Errorf("%s works at unknown %q", m.Username, m.Profile.Organization)
		}
	}
}

// profileFields are the profile fields that a member can make public, under the names of
// the public profile. E-mail, phone and birthday have no public option.
func profileFields() []string {
	return []string{"name", "headline", "bio", "location", "organization", "title", "skills", "languages", "links", "open_to", "avatar_url"}
}

func checkProfile(t *testing.T, who string, p sandbox.Profile) {
	t.Helper()
	for field, bound := range map[string]struct{ length, most int }{
		"name": {len([]rune(p.Name)), 100}, "headline": {len([]rune(p.Headline)), 160}, "bio": {len([]rune(p.Bio)), 4000},
		"location": {len([]rune(p.LocationText)), 120}, "title": {len([]rune(p.Title)), 120}, "country": {len(p.Country), 2},
		"skills": {len(p.Skills), 20}, "languages": {len(p.Languages), 10}, "links": {len(p.Links), 10}, "open_to": {len(p.OpenTo), 10},
	} {
		if bound.length < 1 || bound.length > bound.most {
			t.Errorf("%s: %s has length %d of 1 to %d", who, field, bound.length, bound.most)
		}
	}
	for _, skill := range p.Skills {
		if len([]rune(skill)) > 40 {
			t.Errorf("%s: skill %q is too long", who, skill)
		}
	}
	for _, link := range p.Links {
		u, err := url.Parse(link.URL)
		if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Host, ".example") || link.Label == "" {
			t.Errorf("%s: link %+v", who, link)
		}
	}
	for _, field := range p.PublicFields {
		if !slices.Contains(profileFields(), field) {
			t.Errorf("%s: unknown public field %q", who, field)
		}
	}
	if !slices.Contains(p.PublicFields, "name") {
		t.Errorf("%s is not public", who)
	}
}

func TestSomeMembersAreReserved(t *testing.T) {
	t.Parallel()
	members := sandbox.Build(someDay).Members
	listed := count(members, func(m sandbox.Member) bool { return m.Profile.Listed })
	all := len(profileFields()) - 1 // no member has a picture
	partly := count(members, func(m sandbox.Member) bool { return len(m.Profile.PublicFields) < all })
	if listed != 24 || partly != 3 {
		t.Errorf("%d listed and %d partly public, want 24 and 3", listed, partly)
	}
}

func TestMembersAmongConnections(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	names := map[string]bool{}
	for _, m := range d.Members[1:] {
		names[m.Profile.Name] = true
	}
	for _, c := range d.Connections {
		// 葵 仲宗根 and others are written given name first in both places.
		if (c.Source == "directory") != names[c.Name] {
			t.Errorf("%s has source %s", c.Name, c.Source)
		}
	}
}
