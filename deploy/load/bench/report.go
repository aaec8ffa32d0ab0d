package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"
)

// report is the result of a run, and its JSON file.
type report struct {
	Date       string      `json:"date"`
	Processors int         `json:"processors"`
	Go         string      `json:"go"`
	Rounds     int         `json:"rounds"`
	Window     string      `json:"window"`
	Load       string      `json:"load_at_start"`
	Targets    []targetRow `json:"targets"`
	Ratios     []ratioRow  `json:"ratios"`
	Figures    []figureRow `json:"figures"`
	Missing    []string    `json:"missing"`
}

// targetRow is a target with its samples, one for each round.
type targetRow struct {
	Section string   `json:"section"`
	Name    string   `json:"name"`
	People  int      `json:"people,omitempty"`
	Counted *counts  `json:"counted,omitempty"`
	Samples []sample `json:"samples"`
}

// ratioRow is a comparison of processor times. Least and greatest are those of the rounds.
type ratioRow struct {
	Section  string  `json:"section"`
	What     string  `json:"what"`
	Of       float64 `json:"of_us"`
	To       float64 `json:"to_us"`
	Ratio    float64 `json:"ratio"`
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
	Aim      float64 `json:"aim,omitempty"`
}

// figureRow is a single figure.
type figureRow struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Aim   float64 `json:"aim,omitempty"`
}

func newReport(b *bench) *report {
	return &report{
		Date: time.Now().UTC().Format(time.DateOnly), Processors: runtime.NumCPU(), Go: runtime.Version(),
		Rounds: b.rounds, Window: b.window.String(), Load: load(),
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

func (r *report) addTarget(section string, t *target, samples []sample) {
	row := targetRow{Section: section, Name: t.name, People: t.people, Samples: samples}
	if t.people > 0 {
		row.Counted = &t.counted
	}
	r.Targets = append(r.Targets, row)
}

func (r *report) addRatio(section string, c comparison, of, to []sample) {
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = cpu(of[i]) / cpu(to[i]) / max(c.times, 1)
	}
	row := ratioRow{
		Section: section, What: c.what, Of: median(of, cpu), To: median(to, cpu),
		Ratio: quantile(0.5, ratios), Least: slices.Min(ratios), Greatest: slices.Max(ratios), Aim: c.aim,
	}
	r.Ratios = append(r.Ratios, row)
	say("%-24s %-64s %9.1f : %9.1f µs %6.2f (%.2f to %.2f)  %s\n", section, c.what, row.Of, row.To, row.Ratio, row.Least, row.Greatest, verdict(row.Ratio, row.Aim))
}

func (r *report) figure(what string, value float64, unit string, aim float64) {
	r.Figures = append(r.Figures, figureRow{what, value, unit, aim})
	say("%-89s %9.1f %s  %s\n", what, value, unit, verdict(value, aim))
}

// missing reports something that is not measured, and why.
func (r *report) missing(what string, why error) {
	reason, _, _ := strings.Cut(why.Error(), "\n")
	line := fmt.Sprintf("%s: %.200s", what, reason)
	if !slices.Contains(r.Missing, line) {
		r.Missing = append(r.Missing, line)
		say("not measured: %s\n", line)
	}
}

// verdict compares a value with its aim, which is 0 if there is none.
func verdict(value, aim float64) string {
	switch {
	case aim == 0:
		return ""
	case value <= aim:
		return "reached"
	default:
		return fmt.Sprintf("missed by %.0f %%", math.Ceil((value/aim-1)*100))
	}
}

// cpu returns the processor time of a call in microseconds.
func cpu(s sample) float64 { return s.Service + s.Database }

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return quantile(0.5, values)
}

// CPU, P50, P99 and Bytes return medians of a target's samples, in microseconds and bytes.
func (t targetRow) CPU() float64 { return median(t.Samples, cpu) }
func (t targetRow) P50() float64 { return median(t.Samples, func(s sample) float64 { return s.P50 }) }
func (t targetRow) P99() float64 { return median(t.Samples, func(s sample) float64 { return s.P99 }) }
func (t targetRow) Bytes() float64 {
	return median(t.Samples, func(s sample) float64 { return float64(s.Bytes) })
}

//go:embed page.md.tmpl
var pageText string

// write writes the JSON file and the generated part of the page.
func (r *report) write(page string) error {
	folder := strings.TrimSuffix(page, ".md")
	text, err := json.MarshalIndent(r, "", " ")
	if err := errors.Join(err, os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "results.json"), append(text, '\n'), 0o644)); err != nil {
		return err
	}
	whole, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const begin, end = "<!-- make bench writes from here -->\n", "<!-- to here -->\n"
	before, after, found := strings.Cut(string(whole), begin)
	_, after, ends := strings.Cut(after, end)
	if !found || !ends {
		return fmt.Errorf("%s has no part that is generated", page)
	}
	tables, err := r.markdown()
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+tables+"\n"+end+after), 0o644)
}

// markdown returns the tables of a run.
func (r *report) markdown() (string, error) {
	verdicts := map[bool]int{}
	page, err := template.New("page").Funcs(template.FuncMap{
		"verdict": func(value, aim float64) string {
			verdicts[value <= aim]++
			if value > aim {
				return "**" + verdict(value, aim) + "**"
			}
			return verdict(value, aim)
		},
		"count": func(reached bool) int { return verdicts[reached] },
		"peer": func(t targetRow) bool {
			return strings.HasPrefix(t.Section, "peers") || strings.HasPrefix(t.Section, "typos")
		},
		"tools":  r.tools,
		"millis": func(micros float64) string { return fmt.Sprintf("%.2f", micros/1e3) },
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, r)
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// toolRows is a tool or a page at each size of the network.
type toolRows struct {
	Name  string
	Sizes []*targetRow // with 1,000, 10,000 and 100,000 people; nil where it was not measured
	Usual targetRow    // with 10,000
}

// tools returns the tools and pages that were measured with 10,000 people, by name.
func (r *report) tools(engine string) []toolRows {
	at := map[string]*toolRows{}
	sizes := []int{1000, usualSize, 100_000}
	for _, t := range r.Targets {
		i := slices.Index(sizes, t.People)
		if t.Section != "tools-"+engine || i < 0 {
			continue
		}
		if at[t.Name] == nil {
			at[t.Name] = &toolRows{Name: t.Name, Sizes: make([]*targetRow, len(sizes))}
		}
		if at[t.Name].Sizes[i] = &t; t.People == usualSize {
			at[t.Name].Usual = t
		}
	}
	var rows []toolRows
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if at[name].Usual.Counted != nil {
			rows = append(rows, *at[name])
		}
	}
	return rows
}
