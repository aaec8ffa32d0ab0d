package history_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/history"
)

// A change blocks an undo when it is later, in force, and changed what the undo conflicts
// with.
func TestBlocking(t *testing.T) {
	t.Parallel()
	const older = "chg_3"
	title := effect("connection", "con_1", `{"title":"a","bio":"x"}`, `{"title":"b","bio":"x"}`)
	for name, c := range map[string]struct {
		later  history.Change
		fields []string
		want   bool
	}{
		"one of the field":           {later: history.Change{ID: "chg_4", Effects: []history.Effect{title}}, fields: []string{"bio", "title"}, want: true},
		"one of another field":       {later: history.Change{ID: "chg_4", Effects: []history.Effect{title}}, fields: []string{"bio"}},
		"one of another object":      {later: history.Change{ID: "chg_4", Effects: []history.Effect{effect("note", "not_1", `null`, `{}`)}}},
		"any of the object":          {later: history.Change{ID: "chg_4", Effects: []history.Effect{title}}, want: true},
		"an older one":               {later: history.Change{ID: "chg_2", Effects: []history.Effect{title}}},
		"itself":                     {later: history.Change{ID: "chg_3", Effects: []history.Effect{title}}},
		"one that was undone":        {later: history.Change{ID: "chg_4", UndoneBy: "chg_5", Effects: []history.Effect{title}}},
		"a final one":                {later: history.Change{ID: "chg_4", Final: true, Effects: []history.Effect{title}}},
		"an undo of an older change": {later: history.Change{ID: "chg_4", Undoes: "chg_2", Effects: []history.Effect{title}}, want: true},
		"an undo of a newer change":  {later: history.Change{ID: "chg_5", Undoes: "chg_4", Effects: []history.Effect{title}}},
		"a removal": {
			later: history.Change{ID: "chg_4", Effects: []history.Effect{effect("connection", "con_1", `{}`, `null`)}}, fields: []string{"bio"}, want: true,
		},
		"one of an address": {
			later: history.Change{ID: "chg_4", Effects: []history.Effect{
				effect("connection", "con_1", `{"handles":[]}`, `{"handles":[{"kind":"email","value":"a"}]}`),
			}}, fields: []string{"emails"}, want: true,
		},
	} {
		if got := c.later.Blocking(older, "con_1", c.fields); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
