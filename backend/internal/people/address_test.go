package people_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/people"
)

var (
	home = people.Address{Label: "home", Street: "Rua do Sol 3", Locality: "Lisbon", Postcode: "1200-109", Country: "PT"}
	work = people.Address{Label: "work", Street: "1 Main St\nFloor 2", Locality: "Austin", Region: "TX", Postcode: "78701", Country: "US"}
)

// An address replaces the one with its label. The location follows the preferred address unless the member typed it.
func TestPatchOfAddresses(t *testing.T) {
	t.Parallel()
	moved := people.Address{Label: "Home", Locality: "Porto", Country: "PT"}
	for name, c := range map[string]struct {
		held     []people.Address
		location string
		patch    people.Patch
		want     []people.Address
		place    string
	}{
		"the first":              {nil, "", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{home}}}, []people.Address{home}, "Lisbon, Portugal"},
		"a typed place stays":    {nil, "Bilbao", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{home}}}, []people.Address{home}, "Bilbao"},
		"a second":               {[]people.Address{home}, "Lisbon, Portugal", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{work}}}, []people.Address{home, work}, "Lisbon, Portugal"},
		"one with its label":     {[]people.Address{home, work}, "Lisbon, Portugal", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{moved}}}, []people.Address{moved, work}, "Porto, Portugal"},
		"removed":                {[]people.Address{home, work}, "Lisbon, Portugal", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{{Label: "home"}}}}, []people.Address{work}, "Austin, TX, United States"},
		"the last, removed":      {[]people.Address{home}, "Lisbon, Portugal", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{{Label: "home"}}}}, nil, ""},
		"all replaced":           {[]people.Address{home}, "Lisbon, Portugal", people.Patch{Addresses: people.AddressEdit{Replace: []people.Address{work}}}, []people.Address{work}, "Austin, TX, United States"},
		"replaced by none":       {[]people.Address{home}, "Bilbao", people.Patch{Addresses: people.AddressEdit{Replace: []people.Address{}}}, nil, "Bilbao"},
		"a name of a country":    {nil, "", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{{Label: "x", Locality: " Faro ", Country: "Portugal"}}}}, []people.Address{{Label: "x", Locality: "Faro", Country: "PT"}}, "Faro, Portugal"},
		"a text":                 {nil, "", people.Patch{Addresses: people.AddressEdit{Set: []people.Address{{Text: "Behind the\nold mill"}}}}, []people.Address{{Text: "Behind the\nold mill"}}, ""},
		"the same again":         {[]people.Address{home}, "Lisbon, Portugal", people.Patch{Nickname: new("A"), Addresses: people.AddressEdit{Set: []people.Address{home}}}, []people.Address{home}, "Lisbon, Portugal"},
		"a place that was taken": {[]people.Address{home}, "Bilbao", people.Patch{Location: new("")}, []people.Address{home}, "Lisbon, Portugal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person := ana()
			person.Addresses, person.Location = c.held, c.location
			c.patch.ID = person.ID
			w := newWriter(t, person)
			if _, err := w.update(c.patch); err != nil {
				t.Fatal(err)
			}
			got := w.held(person.ID)
			if diff := cmp.Diff(c.want, got.Addresses); diff != "" || got.Location != c.place {
				t.Errorf("the place is %q, want %q; addresses (-want +got):\n%s", got.Location, c.place, diff)
			}
		})
	}
}

func TestInvalidAddresses(t *testing.T) {
	t.Parallel()
	many := make([]people.Address, people.MaxAddresses+1)
	for i := range many {
		many[i] = people.Address{Text: strings.Repeat("x", i+1)}
	}
	for field, edit := range map[string]people.AddressEdit{
		"addresses[1].country": {Set: []people.Address{home, {Locality: "Utopia", Country: "Nowhere land"}}},
		"addresses[0]":         {Set: []people.Address{{Label: "an unknown label"}}},
		"addresses":            {Set: many},
	} {
		w := newWriter(t, ana())
		_, err := w.update(people.Patch{ID: "con_1", Addresses: edit})
		wantInvalid(t, err, field)
		w.wantNothingWritten(t)
	}
}

// Labels are set by value, in any spelling of it.
func TestPatchOfLabels(t *testing.T) {
	t.Parallel()
	want := ana()
	want.Handles[0].Label, want.Handles[1].Label, want.Handles[3].Label = "", "mobile", "profile"
	wantUpdated(t, people.Patch{Labels: map[string]string{"ANA@home.example": "", "+49 (30) 1": "mobile", "https://in.example/ana": " profile"}}, want)
	w := newWriter(t, ana())
	_, err := w.update(people.Patch{ID: "con_1", Labels: map[string]string{"bo@x.example": "home"}})
	wantInvalid(t, err, "labels")
	w.wantNothingWritten(t)
}

// Addresses are written as in their country.
func TestAddressInLines(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]people.Address{
		"Rua do Sol 3\n1200-109 Lisbon\nPortugal":             home,
		"1 Main St\nFloor 2\nAustin, TX 78701\nUnited States": work,
		"1 High St\nHove\nSussex\nBN3 1AA\nUnited Kingdom":    {Street: "1 High St", Locality: "Hove", Region: "Sussex", Postcode: "BN3 1AA", Country: "GB"},
		"Hauptstr. 5\n50667 Köln\nNRW\nGermany":               {Street: "Hauptstr. 5", Locality: "Köln", Region: "NRW", Postcode: "50667", Country: "DE"},
		"as printed":                                          {Text: "as printed", Locality: "Faro"},
		"Somewhere":                                           {Locality: "Somewhere"},
		"1 Sun Street\nNowhere land":                          {Street: "1 Sun Street", Country: "Nowhere land"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
