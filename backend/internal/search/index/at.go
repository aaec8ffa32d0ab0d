package index

import (
	"slices"

	"github.com/kith-crm/kith/backend/internal/text"
)

// At is a person who is or was at an organisation.
type At struct {
	*Document

	// Current says that they have a current position there, or an address at its domain.
	Current bool
}

// PeopleAt returns the people who hold a position at one of the organisations, or held
// one if past is set, and those with an address at the domain, if it is not empty. It calls
// found for each of them, in no particular order.
func (s *Summary) PeopleAt(organizations []string, domain string, past bool, found func(At)) {
	for _, p := range s.parts {
		current := map[uint32]bool{}
		for _, name := range organizations {
			for _, d := range p.values[valueCompany][text.Fold(name)] {
				at := slices.Index(p.docs[d].doc.Organizations, name)
				if is := at >= 0 && at < int(p.docs[d].doc.CurrentJobs); is || at >= 0 && past {
					current[d] = current[d] || is
				}
			}
		}
		if domain != "" {
			for _, d := range p.values[valueDomain][domain] {
				current[d] = true
			}
		}
		for d, is := range current {
			if !p.out.has(int(d)) {
				found(At{p.docs[d].doc, is})
			}
		}
	}
}
