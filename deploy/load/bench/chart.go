package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// bar is a bar of a chart, with a mark at the aim if there is one.
type bar struct {
	Label         string
	Value, Aim    float64
	Y             int
	Width, AimAt  float64
	Text          string
	Missed, HasIt bool
}

// chart is a chart of horizontal bars on a logarithmic axis.
type chart struct {
	File, Title string
	Bars        []bar
	Height      int
}

var chartText = template.Must(template.New("chart").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {{.Height}}" font-family="sans-serif" font-size="12" role="img" aria-label="{{html .Title}}">
<rect width="900" height="{{.Height}}" fill="#fff"/>
<text x="10" y="20" font-size="15" font-weight="bold">{{html .Title}}</text>
{{- range .Bars}}
<text x="370" y="{{.Y}}" text-anchor="end">{{html .Label}}</text>
<rect x="378" y="{{.Y}}" width="{{printf "%.1f" .Width}}" height="12" transform="translate(0,-10)" fill="{{if .Missed}}#c2410c{{else}}#0f766e{{end}}"/>
{{- if .HasIt}}
<rect x="{{printf "%.1f" .AimAt}}" y="{{.Y}}" width="2" height="16" transform="translate(0,-12)" fill="#111"/>
{{- end}}
<text x="{{printf "%.1f" .Width}}" dx="384" y="{{.Y}}">{{.Text}}</text>
{{- end}}
</svg>
`))

// room is the width of the longest bar.
const room = 440.0

// charts writes the charts into a folder, and returns their Markdown.
func (r *report) charts(folder string) (lines []string, err error) {
	for _, c := range []chart{
		r.peersChart(),
		r.ratioChart("tools-sqlite.svg", "SQLite, 10,000 people: processor time as a multiple of search_connections", "tools-sqlite", " : search_connections"),
		r.ratioChart("tools-postgres.svg", "PostgreSQL, 10,000 people: processor time as a multiple of search_connections", "tools-postgres", " : search_connections"),
		r.ratioChart("growth-sqlite.svg", "SQLite: processor time at 100,000 people as a multiple of that at 1,000", "tools-sqlite", ", 100,000 : 1,000 people"),
		r.ratioChart("growth-postgres.svg", "PostgreSQL: processor time at 100,000 people as a multiple of that at 1,000", "tools-postgres", ", 100,000 : 1,000 people"),
	} {
		if len(c.Bars) == 0 {
			continue
		}
		var b strings.Builder
		if err := chartText.Execute(&b, c.layout()); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, c.File), []byte(b.String()), 0o644); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("![%s](%s/%s)", c.Title, filepath.Base(folder), c.File))
	}
	return lines, nil
}

// layout places the bars.
func (c chart) layout() chart {
	least, greatest := math.Inf(1), 0.0
	for _, b := range c.Bars {
		least, greatest = min(least, b.Value), max(greatest, b.Value, b.Aim)
	}
	width := func(v float64) float64 { return 10 + room*math.Log(v/least)/max(math.Log(greatest/least), 1e-9) }
	for i := range c.Bars {
		b := &c.Bars[i]
		b.Y, b.Width = 48+i*18, width(b.Value)
		if b.HasIt = b.Aim > 0 && b.Aim >= least; b.HasIt {
			b.AimAt = 378 + width(b.Aim)
		}
		b.Missed = b.Aim > 0 && b.Value > b.Aim
	}
	c.Height = 60 + len(c.Bars)*18
	return c
}

// ratioChart returns a chart of the ratios of a section whose names have the given ending.
func (r *report) ratioChart(file, title, section, end string) chart {
	c := chart{File: file, Title: title}
	for _, row := range r.Ratios {
		if label, ok := strings.CutSuffix(row.What, end); ok && row.Section == section {
			c.Bars = append(c.Bars, bar{Label: label, Value: max(row.Ratio, 0.01), Aim: row.Aim, Text: fmt.Sprintf("%.2f", row.Ratio)})
		}
	}
	return c
}

// peersChart returns a chart of the targets and the peers.
func (r *report) peersChart() chart {
	c := chart{File: "peers.svg", Title: "Beside the peers: processor time per request, in µs"}
	for _, t := range r.Targets {
		if strings.HasPrefix(t.Section, "peers") || strings.HasPrefix(t.Section, "typos") {
			value := t.row(cpu)
			c.Bars = append(c.Bars, bar{Label: t.Name, Value: max(value, 0.1), Text: fmt.Sprintf("%.0f", value)})
		}
	}
	return c
}
