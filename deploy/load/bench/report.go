package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

var errNoPostgres = errors.New("no PostgreSQL: set KITH_TEST_POSTGRES_URL")

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

// ratioRow is a comparison. Least and greatest are those of the rounds.
type ratioRow struct {
	Section  string  `json:"section"`
	What     string  `json:"what"`
	Unit     string  `json:"unit"`
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

func (b *bench) newReport() *report {
	return &report{
		Date: time.Now().UTC().Format(time.DateOnly), Processors: runtime.NumCPU(), Go: runtime.Version(),
		Rounds: b.rounds, Window: b.window.String(), Load: load(),
	}
}

func (r *report) addTarget(section string, t *target, samples []sample) {
	row := targetRow{Section: section, Name: t.name, People: t.people, Samples: samples}
	if t.people > 0 {
		row.Counted = &t.counted
	}
	r.Targets = append(r.Targets, row)
}

func (r *report) addRatio(section string, c comparison, of, to []sample) {
	ofs, tos := figures(of, c.figure), figures(to, c.figure)
	ratios := make([]float64, len(of))
	for i := range ratios {
		ratios[i] = ofs[i] / tos[i] / max(c.times, 1)
	}
	row := ratioRow{
		Section: section, What: c.what, Unit: c.unit(), Of: median(ofs), To: median(tos),
		Ratio: median(ratios), Least: slices.Min(ratios), Greatest: slices.Max(ratios), Aim: c.aim,
	}
	r.Ratios = append(r.Ratios, row)
	say("%-24s %-64s %-3s %9.1f : %9.1f µs %6.2f (%.2f to %.2f)  %s\n", section, c.what, row.Unit, row.Of, row.To, row.Ratio, row.Least, row.Greatest, verdict(row.Ratio, row.Aim))
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

// write writes the JSON file, the charts and the generated part of the page.
func (r *report) write(page string) error {
	folder := strings.TrimSuffix(page, ".md")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "results.json"), append(text, '\n'), 0o644)); err != nil {
		return err
	}
	charts, err := r.charts(folder)
	if err != nil {
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
	return os.WriteFile(page, []byte(before+begin+"\n"+r.markdown(charts)+"\n"+end+after), 0o644)
}

// row returns the median of a row's samples.
func (t targetRow) row(of func(sample) float64) float64 { return median(figures(t.Samples, of)) }

func cpu(s sample) float64 { return float64(s.Service+s.Database) / 1e3 }
