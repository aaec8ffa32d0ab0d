package rpc

import (
	"context"
	"strings"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// What to do instead of searching for a wildcard, by tool.
const (
	insteadOfConnections = "to list people, leave query out and give a filter such as tag, group or company; export_connections lists everybody"
	insteadOfNotes       = "list_timeline lists notes and interactions without a query"
	insteadOfDirectory   = "leave query out to list everybody in the directory"
)

// checkWords fails with fault.Invalid when a query has nothing to search for, such
// as "*"; instead says what to do then.
func checkWords(query, instead string) error {
	if strings.ContainsFunc(query, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return nil
	}
	return fault.InvalidField("query", "has no letter or digit, and there are no wildcards; %s", instead)
}

// findGroup returns the group that a filter names by id or name. It fails with
// fault.Invalid, and names the nearest groups, when there is none.
func findGroup(ctx context.Context, data *store.Tenant, idOrName string) (groupID, name string, err error) {
	group, err := data.FindGroup(ctx, idOrName)
	if fault.Is(err, fault.NotFound) {
		return "", "", fault.InvalidField("group", "%s", err)
	}
	if err != nil {
		return "", "", err
	}
	return group.ID, group.Name, nil
}

// checkKnown fails with fault.Invalid when nobody on file has the tag of q, or is
// or was at its company, and names the nearest. It is for empty answers: an answer
// with people in it needs no check.
func checkKnown(ctx context.Context, f *finder.Finder, q search.Query) error {
	if q.Tag == "" && q.Company == "" {
		return nil
	}
	p := tenant.PrincipalFrom(ctx)
	index, err := f.Index(ctx, p.Tenant, p.DataVersion)
	if err != nil {
		return err
	}
	known := func(q search.Query) bool { return len(index.Search(q).Hits) > 0 }
	if q.Tag != "" && !known(search.Query{Tag: q.Tag, Limit: 1}) {
		tags := index.Names(func(d *search.Document) []string { return d.Tags })
		return fault.InvalidField("tag", "nobody has the tag %q%s", q.Tag, text.Nearest(tags, q.Tag))
	}
	if q.Company != "" && !known(search.Query{Company: q.Company, Limit: 1}) {
		return unknownOrganization(index, "company", q.Company)
	}
	return nil
}

// unknownOrganization says of a field that nobody is or was at the organisation, and
// which are nearest.
func unknownOrganization(index *search.Index, field, name string) error {
	organizations := index.Names(func(d *search.Document) []string { return d.Organizations })
	return fault.InvalidField(field, "nobody is or was at %q%s", name, text.Nearest(organizations, name))
}
