// Package rules has the alert rules of the service. Prometheus reads the files, and the status
// page takes its limits from them, so that both use the same limits.
package rules

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed symptoms.yml
var symptoms string

// Alert is a rule of symptoms.yml that compares one figure with one limit.
type Alert struct {
	Name string
	// Severity is page or ticket.
	Severity string
	// Runbook is the address of the page that says what to do.
	Runbook string
	// Comparison is >, < or ==: the alert fires if it holds for the figure and the limit.
	Comparison string
	Limit      float64
}

// Fires reports whether the alert fires for a figure. It is false for NaN.
func (a Alert) Fires(figure float64) bool {
	switch a.Comparison {
	case ">":
		return figure > a.Limit
	case "<":
		return figure < a.Limit
	default:
		return figure == a.Limit
	}
}

var (
	alertPattern = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	// A limit ends a line of an expression, and may be a product: > 25 * 3600.
	limitPattern    = regexp.MustCompile(`(?m) (>|<|==) ([0-9.]+)(?: \* ([0-9]+))?$`)
	severityPattern = regexp.MustCompile(`labels: \{severity: (\w+)\}`)
	runbookPattern  = regexp.MustCompile(`runbook_url: (\S+)`)
)

// Alerts returns the alerts of symptoms.yml by their names. For an expression with several limits,
// the alert has the first one.
func Alerts() (map[string]Alert, error) {
	names := alertPattern.FindAllStringSubmatchIndex(symptoms, -1)
	alerts := make(map[string]Alert, len(names))
	for i, at := range names {
		end := len(symptoms)
		if i+1 < len(names) {
			end = names[i+1][0]
		}
		a, err := parse(symptoms[at[2]:at[3]], symptoms[at[1]:end])
		if err != nil {
			return nil, err
		}
		alerts[a.Name] = a
	}
	return alerts, nil
}

func parse(name, rule string) (Alert, error) {
	expression, rest, _ := strings.Cut(rule, "labels:")
	limit := limitPattern.FindStringSubmatch(expression)
	severity, runbook := severityPattern.FindStringSubmatch("labels:"+rest), runbookPattern.FindStringSubmatch(rest)
	if limit == nil || severity == nil || runbook == nil {
		return Alert{}, fmt.Errorf("alert rule %s: has no limit, severity or runbook", name)
	}
	value, err := strconv.ParseFloat(limit[2], 64)
	if err == nil && limit[3] != "" {
		var factor float64
		factor, err = strconv.ParseFloat(limit[3], 64)
		value *= factor
	}
	if err != nil {
		return Alert{}, fmt.Errorf("alert rule %s: read limit: %w", name, err)
	}
	return Alert{Name: name, Severity: severity[1], Runbook: runbook[1], Comparison: limit[1], Limit: value}, nil
}
