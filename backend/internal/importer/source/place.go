package source

import (
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// place is an address; those of one number belong together.
type place struct {
	number, street, city, region, country string
	// whole is the address in one text.
	whole string
	pref  int
}

// place returns the address of a number, a new one if need be.
func (d *draft) place(number string) *place {
	for i := range d.places {
		if d.places[i].number == number {
			return &d.places[i]
		}
	}
	d.places = append(d.places, place{number: number})
	return &d.places[len(d.places)-1]
}

// location is where somebody of that address lives or works: the town and what is
// around it, else the address as it is.
func (p place) location() string {
	town := joined(p.city, p.region, p.country)
	whole := joined(strings.FieldsFunc(p.whole, func(r rune) bool { return r == '\n' || r == '\r' })...)
	switch {
	case p.city != "" || town != "" && whole == "":
		return town
	case whole != "":
		return whole
	}
	return joined(p.street)
}

// joined joins what is visible with commas.
func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p, _ = line(p, maxLocation); text.Visible(p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

// settlePlace makes the first of the preferred addresses the location.
func (d *draft) settlePlace() {
	best, left := place{}, 0
	for _, p := range d.places {
		if p.location() == "" {
			continue
		}
		if best.location() != "" {
			left++
		}
		if best.location() == "" || rank(p.pref) < rank(best.pref) {
			best = p
		}
	}
	d.set(&d.Location, "location", best.location(), maxLocation)
	if left > 0 {
		d.warn("of %d addresses only %q was kept", left+1, shown(d.Location))
	}
}
