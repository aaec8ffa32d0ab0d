package people_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

func shownJobs(c *people.Connection) string {
	var out []string
	for _, p := range c.Positions {
		out = append(out, fmt.Sprintf("%s/%s %s..%s %v", p.Organization, p.Title, p.StartedOn, p.EndedOn, p.Current))
	}
	return strings.Join(out, "; ")
}

func TestJobs(t *testing.T) {
	t.Parallel()
	type job = people.JobDraft
	held := []people.Position{
		{Organization: "Helios", Title: "CTO", StartedOn: "2020-05", Current: true},
		{Organization: "Orbital Inc", Title: "Engineer", EndedOn: "2019"},
	}
	const cto, engineer = "Helios/CTO 2020-05.. true", "Orbital Inc/Engineer ..2019 false"
	for name, c := range map[string]struct {
		edit people.JobEdit
		want string
	}{
		"a job change":      {people.JobEdit{Add: []job{{Organization: "Zenith", Title: "CEO", StartedOn: "2026-11"}}}, "Zenith/CEO 2026-11.. true; Helios/CTO 2020-05..2026-11 false; " + engineer},
		"a promotion":       {people.JobEdit{Add: []job{{Organization: "helios", Title: "CEO", StartedOn: "2026-11-02"}}}, "Helios/CEO 2026-11-02.. true; Helios/CTO 2020-05..2026-11-02 false; " + engineer},
		"without a date":    {people.JobEdit{Add: []job{{Organization: "Zenith"}}}, "Zenith/ .. true; Helios/CTO 2020-05.. false; " + engineer},
		"a better start":    {people.JobEdit{Add: []job{{Organization: "Helios", Title: "cto", StartedOn: "2020-05-04"}}}, "Helios/CTO 2020-05-04.. true; " + engineer},
		"an earlier start":  {people.JobEdit{Add: []job{{Organization: "Zenith", StartedOn: "2018"}}}, "Zenith/ 2018.. true; Helios/CTO 2020-05.. false; " + engineer},
		"an end":            {people.JobEdit{Add: []job{{Organization: "Helios", EndedOn: "2026"}}}, "Helios/CTO 2020-05..2026 false; " + engineer},
		"a start of a past": {people.JobEdit{Add: []job{{Organization: "Orbital", Title: "Engineer", StartedOn: "2015", EndedOn: "2019-03"}}}, cto + "; Orbital Inc/Engineer 2015..2019-03 false"},
		"a past one":        {people.JobEdit{Add: []job{{Title: "Student", StartedOn: "2001", EndedOn: "2005"}}}, cto + "; " + engineer + "; /Student 2001..2005 false"},
		"an earlier stint":  {people.JobEdit{Add: []job{{Organization: "Helios", Title: "CTO", StartedOn: "2010", EndedOn: "2012"}}}, cto + "; " + engineer + "; Helios/CTO 2010..2012 false"},
		"removed":           {people.JobEdit{Remove: []job{{Organization: "ORBITAL"}}}, cto},
		"both removed":      {people.JobEdit{Remove: []job{{Title: "engineer"}, {Organization: "Helios", StartedOn: "2020-05"}}}, ""},
		"none matches":      {people.JobEdit{Remove: []job{{Organization: "Helios", StartedOn: "2021"}, {Organization: "Zenith"}}}, cto + "; " + engineer},
		"corrected":         {people.JobEdit{Remove: []job{{Organization: "Helios"}}, Add: []job{{Organization: "Zenith", StartedOn: "2020"}}}, "Zenith/ 2020.. true; " + engineer},
		"replaced":          {people.JobEdit{Replace: []job{{Organization: "Zenith"}, {Organization: "Helios", Title: "CTO", StartedOn: "2020-05", Past: true}}}, "Zenith/ .. true; Helios/CTO 2020-05.. false"},
		"two current ones":  {people.JobEdit{Replace: []job{{Organization: "Helios", Title: "CTO", StartedOn: "2020-05"}, {Organization: "Zenith"}}}, "Helios/CTO 2020-05.. true; Zenith/ .. true"},
		"all replaced":      {people.JobEdit{Replace: []job{}}, ""},
		"the same again":    {people.JobEdit{Replace: []job{{Organization: "Helios", Title: "CTO", StartedOn: "2020-05"}, {Organization: "Orbital Inc", Title: "Engineer", EndedOn: "2019"}}}, cto + "; " + engineer},
		"what is there":     {people.JobEdit{Add: []job{{Organization: "Helios", Title: "CTO", StartedOn: "2020-05"}}}, cto + "; " + engineer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, &people.Connection{ID: "con_1", Name: "Ana", Version: 1, Positions: slices.Clone(held)})
			got, err := w.update(people.Patch{ID: "con_1", Jobs: c.edit})
			if err != nil || shownJobs(got.Connection) != c.want || (got.ChangeID == "") != (c.want == cto+"; "+engineer) {
				t.Errorf("%s, %q, %v; want %s", shownJobs(got.Connection), got.ChangeID, err, c.want)
			}
		})
	}
}

func TestJobsRefuse(t *testing.T) {
	t.Parallel()
	for field, d := range map[string]people.JobDraft{
		"add_positions[0]":            {Organization: " \n", StartedOn: "2020"},
		"add_positions[0].started_on": {Title: "x", StartedOn: "2026-02-30"},
		"add_positions[0].ended_on":   {Title: "x", StartedOn: "2020-05", EndedOn: "2020-04-30"},
	} {
		w := newWriter(t, &people.Connection{ID: "con_1", Name: "Ana", Version: 1})
		_, err := w.update(people.Patch{ID: "con_1", Jobs: people.JobEdit{Add: []people.JobDraft{d}}})
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
