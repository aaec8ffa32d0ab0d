package main

import (
	"fmt"
	"slices"
	"strings"
)

// markdown returns the tables and charts of a run.
func (r *report) markdown(charts []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %d processors, %s, %d rounds of %s per row, load average %s at the start. Each ratio is the median of the rounds'\n"+
		"ratios, then the least and the greatest.\n\n", r.Date, r.Processors, r.Go, r.Rounds, r.Window, r.Load)
	for _, chart := range charts {
		fmt.Fprintf(&b, "%s\n\n", chart)
	}
	r.aims(&b)
	r.besides(&b)
	for _, engine := range []string{sqlite, postgres} {
		r.tools(&b, "tools-"+engine)
	}
	if len(r.Missing) > 0 {
		b.WriteString("### Not measured\n\n")
		for _, line := range r.Missing {
			fmt.Fprintf(&b, "- %s\n", line)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// aims writes the table of all ratios and figures that have an aim.
func (r *report) aims(b *strings.Builder) {
	b.WriteString("### Aims\n\n| Section | Ratio or figure | Measured | Aim | |\n|---|---|---:|---:|---|\n")
	reached, missed := 0, 0
	count := func(verdict string) string {
		if verdict == "reached" {
			reached++
			return verdict
		}
		missed++
		return "**" + verdict + "**"
	}
	for _, row := range r.Ratios {
		if row.Aim > 0 {
			fmt.Fprintf(b, "| %s | %s | %.2f (%.2f to %.2f) | %.2f | %s |\n", row.Section, row.What, row.Ratio, row.Least, row.Greatest, row.Aim, count(verdict(row.Ratio, row.Aim)))
		}
	}
	for _, row := range r.Figures {
		if row.Aim > 0 {
			fmt.Fprintf(b, "| figure | %s | %.1f %s | %.0f | %s |\n", row.What, row.Value, row.Unit, row.Aim, count(verdict(row.Value, row.Aim)))
		}
	}
	fmt.Fprintf(b, "\n%d reached, %d missed.\n\n", reached, missed)
}

// besides writes the table of the targets beside the peers.
func (r *report) besides(b *strings.Builder) {
	b.WriteString("### Beside the peers\n\n| Target | CPU µs | p50 µs | p99 µs | Answer bytes |\n|---|---:|---:|---:|---:|\n")
	for _, t := range r.Targets {
		if strings.HasPrefix(t.Section, "peers") || strings.HasPrefix(t.Section, "typos") {
			fmt.Fprintf(b, "| %s | %.1f | %.0f | %.0f | %.0f |\n", t.Name, t.row(cpu), t.row(p50), t.row(p99), t.row(answerBytes))
		}
	}
	b.WriteString("\n")
}

func p50(s sample) float64         { return float64(s.P50) / 1e3 }
func p99(s sample) float64         { return float64(s.P99) / 1e3 }
func answerBytes(s sample) float64 { return float64(s.Bytes) }

// tools writes the table of all tools on a database: processor time at each size, and the
// rest at the usual size.
func (r *report) tools(b *strings.Builder, section string) {
	at := map[string]map[int]targetRow{}
	var names []string
	for _, t := range r.Targets {
		if t.Section != section {
			continue
		}
		if at[t.Name] == nil {
			at[t.Name] = map[int]targetRow{}
		}
		at[t.Name][t.People] = t
		if t.People == usualSize {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	fmt.Fprintf(b, "### Every tool, %s\n\nProcessor time in ms per call at 1,000, 10,000 and 100,000 people; the rest at 10,000.\n\n"+
		"| Tool | 1,000 | 10,000 | 100,000 | p50 ms | p99 ms | Statements | Rows read | Answer bytes | Allocations |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
		strings.TrimPrefix(section, "tools-"))
	for _, name := range names {
		usual := at[name][usualSize]
		rows := "unknown"
		if usual.Counted.Rows >= 0 {
			rows = fmt.Sprint(usual.Counted.Rows)
		}
		fmt.Fprintf(b, "| %s |", name)
		for _, size := range []int{1000, usualSize, 100_000} {
			if t, measured := at[name][size]; measured {
				fmt.Fprintf(b, " %.2f |", t.row(cpu)/1e3)
			} else {
				b.WriteString(" – |")
			}
		}
		fmt.Fprintf(b, " %.2f | %.2f | %d | %s | %d | %d |\n", usual.row(p50)/1e3, usual.row(p99)/1e3,
			usual.Counted.Statements, rows, usual.Counted.Bytes, usual.Counted.Allocations)
	}
	b.WriteString("\n")
}
