package status

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var styleSource string

// Page serves the status page of a Recorder. Build names the running build.
type Page struct {
	Recorder *Recorder
	Build    string

	template *template.Template
	policy   string
}

// NewPage returns the page.
func NewPage(r *Recorder, build string) (*Page, error) {
	t, err := template.New("status").Parse(pageSource)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(styleSource))
	return &Page{
		Recorder: r, Build: build, template: t,
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'",
	}, nil
}

// graph is a figure with its curve.
type graph struct {
	Title, Unit, Now, Low, High string
	Lines                       []string // points of each part; between parts there is no value
}

// The size of a curve, in SVG units.
const (
	width  = kept
	height = 48
	margin = 2
)

// ServeHTTP writes the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, at := p.Recorder.history()
	content := struct {
		Style         template.CSS
		Build, At, Up string
		Graphs        []graph
		Width, Height int
	}{
		Style: template.CSS(styleSource), Build: p.Build, At: at.UTC().Format(time.RFC3339), //nolint:gosec // our own
		Up: at.Sub(p.Recorder.started).Round(time.Second).String(), Width: width, Height: height,
	}
	for _, f := range list {
		content.Graphs = append(content.Graphs, draw(f))
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	var page strings.Builder
	if err := p.template.Execute(&page, content); err != nil {
		p.Recorder.logger.ErrorContext(r.Context(), "render the status page", "error", err)
		http.Error(w, "The page cannot be rendered. The log has the error.", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(page.String())) // the client may have disconnected
}

// draw scales the values from 0 to the largest one.
func draw(f shown) graph {
	g := graph{Title: f.Title, Unit: f.Unit, Now: "–", Low: "–", High: "–"}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range f.Values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if math.IsInf(low, 1) {
		return g
	}
	g.Low, g.High = number(low), number(high)
	if last := f.Values[len(f.Values)-1]; !math.IsNaN(last) {
		g.Now = number(last)
	}
	var line []string
	for i, v := range f.Values {
		if math.IsNaN(v) {
			g.Lines, line = appendLine(g.Lines, line), nil
			continue
		}
		x := width - len(f.Values) + i
		y := float64(height-margin) - v/max(high, math.SmallestNonzeroFloat64)*(height-2*margin)
		line = append(line, strconv.Itoa(x)+","+strconv.FormatFloat(y, 'f', 1, 64))
	}
	g.Lines = appendLine(g.Lines, line)
	return g
}

func appendLine(lines, points []string) []string {
	if len(points) == 1 { // a polyline needs two points
		points = append(points, points[0])
	}
	if len(points) == 0 {
		return lines
	}
	return append(lines, strings.Join(points, " "))
}

// number formats a value with three digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}
