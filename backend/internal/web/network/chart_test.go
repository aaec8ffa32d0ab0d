package network

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every mark is inside its chart, larger figures have larger marks, and every mark above 0 is
// visible.
func TestChartsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		figures := rapid.SliceOfN(rapid.IntRange(0, 100_000), 0, 20).Draw(t, "figures")
		var rows []bar
		var list []column
		for _, n := range figures {
			rows, list = append(rows, bar{People: n}), append(list, column{People: n})
		}
		laid, columns := barsOf(rows), columnsOf(list)
		for i, n := range figures {
			r, c := laid.Rows[i], columns[i]
			if r.Width < 0 || r.Width > 100 || r.Top+barHeight > laid.Height || (n > 0) != (r.Width > 0) {
				t.Fatalf("bar %d of %d: %+v", i, laid.Height, r)
			}
			if c.X < 0 || c.X+c.Width > 100.001 || c.Top < -0.001 || c.Top+c.Height > columnHeight+0.001 || (n > 0) != (c.Height > 0) {
				t.Fatalf("column %d: %+v", i, c)
			}
			for j, other := range figures {
				if other > n && (laid.Rows[j].Width < r.Width || columns[j].Height < c.Height) {
					t.Fatalf("%d is larger than %d", n, other)
				}
			}
		}
	})
}

func TestCurve(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]int{"": nil, "0.0,60": {40}, "0.0,100 50.0,0 100.0,27": {0, 100, 73}} {
		if got := curve(values); got != want {
			t.Errorf("%v: %q", values, got)
		}
	}
	if n := len(strings.Fields(curve(make([]int, 25)))); n != 25 {
		t.Errorf("%d points", n)
	}
}
