package history_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/history"
)

// A change blocks an undo when it is later, in force, and changed what the undo conflicts
// with.
func TestBlocking(t *testing.T) {
	t.Parallel()
	const older = 3
	title := effect("connection", "con_1", `{"title":"a","bio":"x"}`, `{"title":"b","bio":"x"}`)
	for name, c := range map[string]struct {
		later  history.Change
		undone int64
		fields []string
		want   bool
	}{
		"one of the field":           {later: history.Change{Number: 4, Effects: []history.Effect{title}}, fields: []string{"bio", "title"}, want: true},
		"one of another field":       {later: history.Change{Number: 4, Effects: []history.Effect{title}}, fields: []string{"bio"}},
		"one of another object":      {later: history.Change{Number: 4, Effects: []history.Effect{effect("note", "not_1", `null`, `{}`)}}},
		"any of the object":          {later: history.Change{Number: 4, Effects: []history.Effect{title}}, want: true},
		"an older one":               {later: history.Change{Number: 2, Effects: []history.Effect{title}}},
		"itself":                     {later: history.Change{Number: 3, Effects: []history.Effect{title}}},
		"one that was undone":        {later: history.Change{Number: 4, UndoneBy: "chg_5", Effects: []history.Effect{title}}},
		"a final one":                {later: history.Change{Number: 4, Final: true, Effects: []history.Effect{title}}},
		"an undo of an older change": {later: history.Change{Number: 4, Undoes: "chg_2", Effects: []history.Effect{title}}, undone: 2, want: true},
		"an undo of a newer change":  {later: history.Change{Number: 5, Undoes: "chg_4", Effects: []history.Effect{title}}, undone: 4},
		"a removal": {
			later: history.Change{Number: 4, Effects: []history.Effect{effect("connection", "con_1", `{}`, `null`)}}, fields: []string{"bio"}, want: true,
		},
		"one of an address": {
			later: history.Change{Number: 4, Effects: []history.Effect{
				effect("connection", "con_1", `{"handles":[]}`, `{"handles":[{"kind":"email","value":"a"}]}`),
			}}, fields: []string{"emails"}, want: true,
		},
	} {
		if got := c.later.Blocking(older, c.undone, "con_1", c.fields); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
