package people

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// MaxAddresses is how many postal addresses a person has at most.
const MaxAddresses = 10

// Address is a postal address of a person, with the components of RFC 6350, section 6.3.1, or RFC 9553, section 2.5.1. The
// first one of a person is the preferred one. Bounds are the contract's, in characters.
type Address struct {
	// Label is home, work, other, or the member's own word; up to 80.
	Label string `json:"label"`
	// Street is everything above the town, in lines: number and street, flat, post office box; up to 300.
	Street   string `json:"street"`
	Locality string `json:"locality"`
	Region   string `json:"region"`
	Postcode string `json:"postcode"`
	// Country is a code of ISO 3166-1, or the words of a file that name no country.
	Country string `json:"country"`
	// Text is the whole address as somebody wrote it: alone if its components are not known, or as it is printed.
	Text string `json:"text"`
}

// AddressEdit says what to change of the postal addresses: Replace (unless nil) first, then Set, each of which takes the
// place of the first address with its label, or is added; with nothing but a label, it removes those that have it.
type AddressEdit struct{ Replace, Set []Address }

// clean returns the address without superfluous spaces, and with the code of a country that its name or code stands for.
func (a Address) clean() Address {
	for _, part := range []*string{&a.Label, &a.Locality, &a.Region, &a.Postcode, &a.Country} {
		*part = text.Line(*part)
	}
	a.Street, a.Text = text.Clean(a.Street), text.Clean(a.Text)
	a.Country = cmp.Or(country.Named(a.Country), a.Country)
	return a
}

// empty reports whether nothing but a label is known.
func (a Address) empty() bool { return a == (Address{Label: a.Label}) }

// Place is where the address is: its town, region and country; a street is no place. Of an address that is only a text, it is
// not known.
func (a Address) Place() string {
	return joinVisible(", ", a.Locality, a.Region, country.Name(a.Country))
}

// String is the address in lines, as it is written in its country: the text that somebody wrote, if there is one.
func (a Address) String() string {
	if a.Text != "" {
		return a.Text
	}
	town := joinVisible(" ", a.Postcode, a.Locality)
	region := a.Region
	switch a.Country {
	case "US", "CA", "AU", "IN":
		town, region = joinVisible(", ", a.Locality, joinVisible(" ", a.Region, a.Postcode)), ""
	case "GB", "IE":
		town, region = joinVisible("\n", a.Locality, a.Region, a.Postcode), ""
	case "JP", "KR", "CN", "TW", "BR", "IT", "ES":
		town, region = joinVisible(" ", a.Postcode, a.Locality, a.Region), ""
	}
	return joinVisible("\n", a.Street, town, region, country.Name(a.Country))
}

// joinVisible joins the parts that are not empty.
func joinVisible(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

// same reports whether both are one address: what both know is equal, and no street is missing.
func (a Address) same(b Address) bool {
	if a.Text != "" && b.Text != "" && text.Fold(a.Text) != text.Fold(b.Text) || a.Label != "" && b.Label != "" && a.Label != b.Label {
		return false
	}
	known := a.Text != "" && b.Text != ""
	for _, part := range [][2]string{{a.Street, b.Street}, {a.Postcode, b.Postcode}, {a.Locality, b.Locality}, {a.Region, b.Region}, {a.Country, b.Country}} {
		if part[0] == "" || part[1] == "" {
			continue
		}
		if text.Fold(part[0]) != text.Fold(part[1]) {
			return false
		}
		known = true
	}
	return known && (a.Street == "") == (b.Street == "")
}

// with returns the address with what another form of it knows beyond it.
func (a Address) with(b Address) Address {
	return Address{
		Label: cmp.Or(a.Label, b.Label), Street: cmp.Or(a.Street, b.Street), Locality: cmp.Or(a.Locality, b.Locality), Region: cmp.Or(a.Region, b.Region),
		Postcode: cmp.Or(a.Postcode, b.Postcode), Country: cmp.Or(a.Country, b.Country), Text: cmp.Or(a.Text, b.Text),
	}
}

// absorbAddress adds an address, or what it knows beyond the same one.
func (c *Connection) absorbAddress(a Address) {
	if at := slices.IndexFunc(c.Addresses, a.same); at >= 0 {
		c.Addresses[at] = c.Addresses[at].with(a)
	} else if !a.empty() {
		c.Addresses = append(c.Addresses, a)
	}
}

// check returns an error that names the field if a draft is no address, or is in no country.
func (a Address) check(field string) error {
	switch {
	case a.empty():
		return fault.InvalidField(field, "needs a street, a locality, a postcode, a country or a text")
	case a.Country != "" && country.Named(a.Country) == "":
		return fault.InvalidField(field+".country", "%s names no country: use a name, or a code such as PT", text.Quote(a.Country))
	}
	return nil
}

// editAddresses changes the addresses; errors name the entries of the field addresses. A place that was taken from them
// follows them.
func (c *Connection) editAddresses(e AddressEdit) error {
	derived := !c.HasTypedLocation()
	drafts := e.Set
	if e.Replace != nil {
		c.Addresses, drafts = nil, slices.Concat(e.Replace, e.Set)
	}
	for i, d := range drafts {
		d = d.clean()
		labelled := func(a Address) bool { return d.Label != "" && text.Fold(a.Label) == text.Fold(d.Label) }
		if at := slices.IndexFunc(c.Addresses, labelled); d.empty() && at >= 0 {
			c.Addresses = slices.DeleteFunc(c.Addresses, labelled)
			continue
		} else if err := d.check(fmt.Sprintf("addresses[%d]", i)); err != nil {
			return err
		} else if at >= 0 && i >= len(e.Replace) {
			c.Addresses[at] = d
			continue
		}
		c.absorbAddress(d)
	}
	if len(c.Addresses) == 0 {
		c.Addresses = nil
	}
	if derived {
		c.Location = c.derivedPlace()
	}
	return nil
}

// derivedPlace is the place of the first address that has one, if it fits the contract's bound.
func (c *Connection) derivedPlace() string {
	for _, a := range c.Addresses {
		if place := a.Place(); place != "" && len([]rune(place)) <= maxLocation {
			return place
		}
	}
	return ""
}

// maxLocation is the contract's bound on a location, in characters.
const maxLocation = 120

// HasTypedLocation reports whether the location was not taken from the postal addresses.
func (c *Connection) HasTypedLocation() bool {
	return c.Location != "" && c.Location != c.derivedPlace()
}

// Places are the places of the postal addresses, without the location.
func (c *Connection) Places() (all []string) {
	for _, a := range c.Addresses {
		if place := a.Place(); place != "" && place != c.Location && !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}
