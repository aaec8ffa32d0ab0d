package profile_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/text"
)

// shown lists, for each field that can be shown, the values that show it.
func shown(p *profile.Profile) map[string][]any {
	return map[string][]any{
		profile.FieldHeadline:     {p.Headline},
		profile.FieldBio:          {p.Bio},
		profile.FieldLocation:     {p.LocationText, p.Country},
		profile.FieldOrganization: {p.Organization},
		profile.FieldTitle:        {p.Title},
		profile.FieldSkills:       {p.Skills},
		profile.FieldLanguages:    {p.Languages},
		profile.FieldLinks:        {p.Links},
		profile.FieldOpenTo:       {p.OpenTo},
		profile.FieldAvatarURL:    {p.AvatarURL},
	}
}

// full returns a profile that has something in every field, and shows nothing.
func full() *profile.Profile {
	return &profile.Profile{
		MemberID: "mem_1", Username: "ana", Name: "Ana López", Headline: "Öko-Bau", Bio: "Builds", LocationText: "Bilbao",
		Country: "ES", Organization: "Helios", Title: "Founder", Skills: []string{"Welding", "Go"}, Languages: []string{"eu"},
		Links: []profile.Link{{Label: "Site", URL: "https://ana.example"}}, OpenTo: []string{"advising"},
		AvatarURL: "https://ana.example/a.png", Visibility: profile.Public,
	}
}

func blank(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { return !reflect.ValueOf(v).IsZero() })
}

func TestFieldsAreAllThatCanBeShown(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(maps.Keys(shown(full())))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(profile.Fields()))); diff != "" {
		t.Errorf("Fields() (-want +got):\n%s", diff)
	}
	for field, values := range shown(full()) {
		if slices.ContainsFunc(values, func(v any) bool { return reflect.ValueOf(v).IsZero() }) {
			t.Errorf("full() has nothing in %s", field)
		}
	}
}

// A new field of Profile must either be one that can be shown one by one, or be
// named here as one that Reduce never blanks.
func TestReduceToNothingLeavesOnlyWhatIsAlwaysThere(t *testing.T) {
	t.Parallel()
	always := []string{"MemberID", "Name", "Visibility", "Username"}
	p := full()
	p.Reduce(profile.Public)
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
		visibility profile.Visibility
		audience   profile.Visibility
		kept       bool
	}{
		{"public to all", profile.Public, profile.Public, true},
		{"public to members", profile.Public, profile.Members, true},
		{"members' to all", profile.Members, profile.Public, false},
		{"members' to members", profile.Members, profile.Members, true},
		{"private to all", profile.Private, profile.Public, false},
		{"private to members", profile.Private, profile.Members, false},
		{"unset to all", "", profile.Public, false},
		{"unset to members", "", profile.Members, false},
		{"unknown to all", "everyone", profile.Public, false},
		{"unknown to members", "everyone", profile.Members, false},
		{"members' to an unknown audience", profile.Members, "", false},
	}
	for _, c := range cases {
		for _, field := range profile.Fields() {
			t.Run(c.name+"/"+field, func(t *testing.T) {
				t.Parallel()
				p := full()
				p.FieldVisibility = map[string]profile.Visibility{field: c.visibility}
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
		visibility := rapid.SampledFrom([]profile.Visibility{"", profile.Private, profile.Members, profile.Public})
		audience := rapid.SampledFrom([]profile.Visibility{profile.Members, profile.Public}).Draw(t, "audience")
		p := full()
		p.FieldVisibility = map[string]profile.Visibility{}
		for _, field := range profile.Fields() {
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

func TestIndexHoldsOnlyPublicWords(t *testing.T) {
	t.Parallel()
	// searched are the fields whose words the directory finds once they are public.
	searched := map[string][]string{
		profile.FieldHeadline: {"oko-bau"}, profile.FieldOrganization: {"helios"}, profile.FieldTitle: {"founder"},
		profile.FieldLocation: {"bilbao"}, profile.FieldSkills: {"welding", "go"},
	}
	for _, field := range profile.Fields() {
		for _, v := range []profile.Visibility{profile.Public, profile.Members, profile.Private} {
			t.Run(field+"/"+string(v), func(t *testing.T) {
				t.Parallel()
				p := full()
				p.FieldVisibility = map[string]profile.Visibility{field: v}
				p.Index(text.Fold)
				want := []string{"ana", "lopez"}
				if v == profile.Public {
					want = append(want, searched[field]...)
				}
				if diff := cmp.Diff(want, strings.Fields(p.SearchText)); diff != "" {
					t.Errorf("words (-want +got):\n%s", diff)
				}
				seen := append([]string{}, strings.Fields(p.SearchText)...)
				if v == profile.Members {
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
	p.FieldVisibility = map[string]profile.Visibility{profile.FieldTitle: profile.Public}
	p.Index(text.Fold)
	p.FieldVisibility[profile.FieldTitle] = profile.Private
	p.Index(text.Fold)
	if strings.Contains(p.SearchText, "founder") {
		t.Errorf("still finds %q", p.SearchText)
	}
}
