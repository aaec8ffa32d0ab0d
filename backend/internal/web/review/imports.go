package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// askedImport is what an import that waits for a decision would do.
type askedImport struct {
	importer.Asked

	Rows []askedRow
}

// askedRow is a row of the file, with the person that it is taken for and those whom it may be.
type askedRow struct {
	importer.RowReport

	People []askedPerson
}

type askedPerson struct {
	// How says whether the row is the person, Who names the person, Path is the person's page; it
	// may be empty.
	How, Who, Why, Path string
}

// importOf reads what an import would do; nil for other calls.
func (v *request) importOf(stored json.RawMessage) (*askedImport, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	out := &askedImport{}
	if err := json.Unmarshal(stored, &out.Asked); err != nil {
		return nil, fmt.Errorf("read what an import would do: %w", err)
	}
	for _, r := range out.Asked.Rows {
		row := askedRow{RowReport: r}
		add := func(how string, p importer.PersonReport) {
			who := strings.Trim(cmp.Or(p.Name, r.Name)+", "+p.Headline, ", ")
			shown := askedPerson{How: how, Who: who, Why: p.Why}
			if p.ID != "" {
				shown.Path = v.To(page.PathPeople + "/" + p.ID)
			} else {
				shown.Who = fmt.Sprintf("%s in row %d", who, p.OfRow)
			}
			row.People = append(row.People, shown)
		}
		if r.Match != nil {
			add("Is", *r.Match)
		}
		for _, p := range r.MayBe {
			add("May be", p)
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
