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

// Page serves the status page of a Recorder.
type Page struct {
	recorder *Recorder
	build    string // the running build
	template *template.Template
	policy   string
}

// NewPage returns the page. build names the running build.
func NewPage(r *Recorder, build string) (*Page, error) {
	t, err := template.New("status").Parse(pageSource)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(styleSource))
	return &Page{
		recorder: r, build: build, template: t,
		policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'",
	}, nil
}

// graph is a figure with its curve. Limit says when its alert fires; it may be empty.
type graph struct {
	Title, Unit, Now, Low, High, Limit string
	Lines                              []string // points of each part; between parts there is no value
}

// The size of a curve, in SVG units.
const (
	width  = kept
	height = 48
	margin = 2
)

// result is a check as the page shows it.
type result struct {
	Title, Now, Limit, Runbook string
	Fires                      bool
}

// verdict is the summary of all checks.
type verdict struct {
	Words string
	// Wrong are the checks whose alerts fire, Checks all of them.
	Wrong, Checks []result
}

// refreshParameter is the query parameter that turns automatic reloading off, for people who need
// more time to read.
const refreshParameter = "refresh"

// ServeHTTP writes the page. The browser reloads it at the interval of the readings, unless the
// parameter refresh is off.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, at := p.recorder.history()
	content := struct {
		Style         template.CSS
		Build, At, Up string
		Verdict       verdict
		Graphs        []graph
		Width, Height int
		Refreshes     bool
		Seconds       int
	}{
		Style: template.CSS(styleSource), Build: p.build, At: at.UTC().Format(time.RFC3339), //nolint:gosec // our own
		Up: at.Sub(p.recorder.started).Round(time.Second).String(), Verdict: classify(p.recorder.results()), Width: width, Height: height,
		Refreshes: r.URL.Query().Get(refreshParameter) != "off", Seconds: int(interval / time.Second),
	}
	limits := map[string]string{}
	for _, c := range content.Verdict.Checks {
		limits[c.Title] = c.Limit
	}
	for _, f := range list {
		g := draw(f)
		g.Limit = limits[f.Title]
		content.Graphs = append(content.Graphs, g)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	if content.Refreshes {
		h.Set("Refresh", strconv.Itoa(content.Seconds))
	}
	var page strings.Builder
	if err := p.template.Execute(&page, content); err != nil {
		p.recorder.logger.ErrorContext(r.Context(), "render the status page", "error", err)
		http.Error(w, "The page cannot be rendered. The log has the error.", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(page.String())) // the client may have disconnected
}

// classify returns the verdict. It says so if no rates have been measured yet.
func classify(list []checked, rates bool) verdict {
	v := verdict{}
	for _, c := range list {
		shown := result{Title: c.title, Now: c.words(c.now), Limit: c.limitWords(), Runbook: c.rule.Runbook, Fires: c.fires}
		if v.Checks = append(v.Checks, shown); c.fires {
			v.Wrong = append(v.Wrong, shown)
		}
	}
	switch {
	case len(v.Wrong) > 1:
		v.Words = strconv.Itoa(len(v.Wrong)) + " things are wrong"
	case len(v.Wrong) == 1:
		v.Words = "One thing is wrong"
	case !rates:
		v.Words = "Nothing is wrong so far"
	default:
		v.Words = "All good"
	}
	return v
}

// words formats a figure with its unit.
func (c checked) words(figure float64) string {
	switch {
	case math.IsNaN(figure) || math.IsInf(figure, 0):
		return "–"
	case c.unit == truth && figure == 0:
		return "no"
	case c.unit == truth:
		return "yes"
	case c.unit == "":
		return number(figure)
	}
	return number(figure) + " " + c.unit
}

// limitWords returns the sentence that says when the alert fires.
func (c checked) limitWords() string {
	switch c.rule.Comparison {
	case ">":
		return "above " + c.words(c.limit)
	case "<":
		return "below " + c.words(c.limit)
	default:
		return "if “" + c.words(c.limit) + "”"
	}
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
