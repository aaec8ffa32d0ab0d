package network

import (
	"fmt"
	"strings"
)

// The heights of rows, in pixels.
const (
	barHeight    = 38
	tieHeight    = 52
	pathHeight   = 60
	columnHeight = 150
)

// share returns a part of a whole as a percentage between 0 and 100. A part above 0 is at least
// 1.5, so that its mark can be seen.
func share(part, whole int) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return min(100, max(1.5, 100*float64(part)/float64(whole)))
}

// bars is a chart with a bar for each row.
type bars struct {
	Height int
	Rows   []bar
}

// bar is a row of a chart: its name above, and a bar as wide as its figure.
type bar struct {
	Name   string
	Path   string
	People int
	// Top is in pixels, Width a percentage.
	Top   int
	Width float64
}

// barsOf lays out bars, from the top; the longest is as wide as the chart.
func barsOf(rows []bar) bars {
	most := 0
	for _, r := range rows {
		most = max(most, r.People)
	}
	for i := range rows {
		rows[i].Top, rows[i].Width = i*barHeight, share(rows[i].People, most)
	}
	return bars{Height: len(rows) * barHeight, Rows: rows}
}

// column is a column of a chart.
type column struct {
	// Label is the month in short, Name the month and the year.
	Label, Year, Name, Path string
	People                  int
	// X, Width and Middle are percentages; Top and Height are in pixels.
	X, Width, Middle float64
	Top, Height      float64
}

// columnsOf lays out columns, from the left; the highest is as high as the chart.
func columnsOf(list []column) []column {
	most := 0
	for _, c := range list {
		most = max(most, c.People)
	}
	step := 100 / float64(max(1, len(list)))
	for i := range list {
		c := &list[i]
		c.X, c.Width, c.Middle = float64(i)*step+step/8, step*3/4, float64(i)*step+step/2
		c.Height = share(c.People, most) / 100 * columnHeight
		c.Top = columnHeight - c.Height
	}
	return list
}

// curve returns the points of a line through values between 0 and 100, in a square of 100 by 100
// whose origin is at the top.
func curve(values []int) string {
	var points strings.Builder
	for i, value := range values {
		x := 0.0
		if len(values) > 1 {
			x = 100 * float64(i) / float64(len(values)-1)
		}
		fmt.Fprintf(&points, "%s%.1f,%d", strings.Repeat(" ", min(i, 1)), x, 100-value)
	}
	return points.String()
}

// weight returns the class of a line that stands for a tie with a score.
func weight(score int32) string {
	switch {
	case score >= 60:
		return "strong"
	case score >= 20:
		return "middling"
	}
	return "weak"
}
