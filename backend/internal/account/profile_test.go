package account_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/text"
	"pgregory.net/rapid"
)

// shown lists, for each field with its own visibility, the values that it shows.
func shown(p *account.Profile) map[string][]any {
	return map[string][]any{
		account.FieldHeadline:     {p.Headline},
		account.FieldBio:          {p.Bio},
		account.FieldLocation:     {p.LocationText, p.Country},
		account.FieldOrganization: {p.Organization},
		account.FieldTitle:        {p.Title},
		account.FieldSkills:       {p.Skills},
		account.FieldLanguages:    {p.Languages},
		account.FieldLinks:        {p.Links},
		account.FieldOpenTo:       {p.OpenTo},
		account.FieldAvatarURL:    {p.AvatarURL},
	}
}

// full returns a profile with a value in every field and no visible field.
func full() *account.Profile {
	return &account.Profile{
		MemberID: "mem_1", Username: "ana", Name: "Ana López", Headline: "Öko-Bau", Bio: "Builds", LocationText: "Bilbao",
		Country: "ES", Organization: "Helios", Title: "Founder", Skills: []string{"Welding", "Go"}, Languages: []string{"eu"},
		Links: []account.Link{{Label: "Site", URL: "https://ana.example"}}, OpenTo: []string{"advising"},
		AvatarURL: "https://ana.example/a.png", Visibility: account.Public,
	}
}

func blank(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { return !reflect.ValueOf(v).IsZero() })
}

func TestFieldsAreAllThatCanBeShown(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(maps.Keys(shown(full())))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(account.Fields()))); diff != "" {
		t.Errorf("Fields() (-want +got):\n%s", diff)
	}
	for field, values := range shown(full()) {
		if slices.ContainsFunc(values, func(v any) bool { return reflect.ValueOf(v).IsZero() }) {
			t.Errorf("full() has nothing in %s", field)
		}
	}
}

// A new field of Profile must either have its own visibility, or be listed here as one
// that Reduce never clears.
func TestReduceToNothingKeepsOnlyUnconditionalFields(t *testing.T) {
	t.Parallel()
	always := []string{"MemberID", "Name", "Visibility", "Username"}
	p := full()
	p.Reduce(account.Public)
	v := reflect.ValueOf(*p)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if kept := !v.Field(i).IsZero(); kept != slices.Contains(always, name) {
			t.Errorf("%s: kept is %v", name, kept)
		}
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name       string
		visibility account.Visibility
		audience   account.Visibility
		kept       bool
	}{
		{"public to all", account.Public, account.Public, true},
		{"public to members", account.Public, account.Members, true},
		{"members' to all", account.Members, account.Public, false},
		{"members' to members", account.Members, account.Members, true},
		{"private to all", account.Private, account.Public, false},
		{"private to members", account.Private, account.Members, false},
		{"unset to all", "", account.Public, false},
		{"unset to members", "", account.Members, false},
		{"unknown to all", "everyone", account.Public, false},
		{"unknown to members", "everyone", account.Members, false},
		{"members' to an unknown audience", account.Members, "", false},
	}
	for _, c := range cases {
		for _, field := range account.Fields() {
			t.Run(c.name+"/"+field, func(t *testing.T) {
				t.Parallel()
				p := full()
				p.FieldVisibility = map[string]account.Visibility{field: c.visibility}
				if p.Shows(field, c.audience) != c.kept {
					t.Errorf("Shows = %v", !c.kept)
				}
				p.Reduce(c.audience)
				for other, values := range shown(p) {
					if want := c.kept && other == field; blank(values) == want {
						t.Errorf("%s is %v", other, values)
					}
				}
				if c.kept && !reflect.DeepEqual(shown(p)[field], shown(full())[field]) {
					t.Errorf("it was changed to %v", shown(p)[field])
				}
			})
		}
	}
}

// Fields do not depend on each other, and reducing again changes nothing.
func TestReduceProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		visibility := rapid.SampledFrom([]account.Visibility{"", account.Private, account.Members, account.Public})
		audience := rapid.SampledFrom([]account.Visibility{account.Members, account.Public}).Draw(t, "audience")
		p := full()
		p.FieldVisibility = map[string]account.Visibility{}
		for _, field := range account.Fields() {
			p.FieldVisibility[field] = visibility.Draw(t, field)
		}
		p.Reduce(audience)
		for field, values := range shown(p) {
			if blank(values) == p.Shows(field, audience) {
				t.Fatalf("%s is %v for %s: %v", field, p.FieldVisibility[field], audience, values)
			}
		}
		again := *p
		again.Reduce(audience)
		if diff := cmp.Diff(*p, again); diff != "" {
			t.Fatalf("reducing again changed it:\n%s", diff)
		}
	})
}

func TestPublished(t *testing.T) {
	t.Parallel()
	p := full()
	p.Headline = "\u200bÖko-Bau"
	p.FieldVisibility = map[string]account.Visibility{account.FieldHeadline: account.Public, account.FieldBio: account.Members}
	before := *p
	got := account.Published(p)
	if got.GetName() != "Ana López" || got.GetHeadline() != "Öko-Bau" || got.Bio != nil || got.Location != nil || len(got.GetSkills()) > 0 {
		t.Errorf("everybody sees %v", got)
	}
	if diff := cmp.Diff(before, *p); diff != "" {
		t.Errorf("the profile was changed:\n%s", diff)
	}
	for _, v := range []account.Visibility{account.Private, account.Members, "", "everyone"} {
		if p.Visibility = v; account.Published(p) != nil {
			t.Errorf("a page with visibility %q is published", v)
		}
	}
}

func TestIndexHoldsOnlyPublicWords(t *testing.T) {
	t.Parallel()
	// searched are the fields whose words the directory finds once they are public.
	searched := map[string][]string{
		account.FieldHeadline: {"oko-bau"}, account.FieldOrganization: {"helios"}, account.FieldTitle: {"founder"},
		account.FieldLocation: {"bilbao"}, account.FieldSkills: {"welding", "go"},
	}
	for _, field := range account.Fields() {
		for _, v := range []account.Visibility{account.Public, account.Members, account.Private} {
			t.Run(field+"/"+string(v), func(t *testing.T) {
				t.Parallel()
				p := full()
				p.FieldVisibility = map[string]account.Visibility{field: v}
				p.Index(text.Fold)
				want := []string{"ana", "lopez"}
				if v == account.Public {
					want = append(want, searched[field]...)
				}
				if diff := cmp.Diff(want, strings.Fields(p.SearchText)); diff != "" {
					t.Errorf("words (-want +got):\n%s", diff)
				}
				seen := append([]string{}, strings.Fields(p.SearchText)...)
				if v == account.Members {
					seen = append(seen, searched[field]...)
				}
				if diff := cmp.Diff(seen, strings.Fields(p.MemberText)); diff != "" {
					t.Errorf("members' words (-want +got):\n%s", diff)
				}
				if p.SortName != "ana lopez" {
					t.Errorf("ordered by %q", p.SortName)
				}
			})
		}
	}
}

func TestIndexKeepsTheProfile(t *testing.T) {
	t.Parallel()
	p := full()
	p.Index(text.Fold)
	p.SearchText, p.MemberText, p.SortName = "", "", ""
	if diff := cmp.Diff(full(), p); diff != "" {
		t.Errorf("Index changed the profile:\n%s", diff)
	}
}

func TestIndexAgainForgetsWhatBecamePrivate(t *testing.T) {
	t.Parallel()
	p := full()
	p.FieldVisibility = map[string]account.Visibility{account.FieldTitle: account.Public}
	p.Index(text.Fold)
	p.FieldVisibility[account.FieldTitle] = account.Private
	p.Index(text.Fold)
	if strings.Contains(p.SearchText, "founder") {
		t.Errorf("the index still contains %q", p.SearchText)
	}
}
