package ops

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// event is one disturbance of the site, with its effects.
type event struct {
	name     string
	began    time.Time // when the process or server was down
	restored time.Time // when it was started again; zero if the event needs no restart
	ended    time.Time // when everything worked again
	shown    []shown   // what the dashboards showed
}

// shown is an extreme value of a panel during an event.
type shown struct {
	dashboard, panel string
	value            float64
}

// outcome is what clients saw during an event.
type outcome struct {
	requests, failed int
	reasons          map[string]int
	// lastAfterLoss and lastAfterReturn are the time of the last failed request, counted
	// from the beginning and from the restart; 0 if none failed.
	lastAfterLoss, lastAfterReturn time.Duration
	longest                        time.Duration // longest wait of a retried write
}

func (e event) outcome(r *record) outcome {
	o := outcome{reasons: map[string]int{}, longest: r.longest(e.began, e.ended)}
	for _, s := range r.between(e.began, e.ended) {
		o.requests++
		if s.failed == "" {
			continue
		}
		o.failed++
		o.reasons[s.what+" "+strings.TrimPrefix(s.failed, "away: ")]++
		o.lastAfterLoss = max(o.lastAfterLoss, s.ended().Sub(e.began))
		if !e.restored.IsZero() {
			o.lastAfterReturn = max(o.lastAfterReturn, s.ended().Sub(e.restored))
		}
	}
	return o
}

func (o outcome) share() float64 { return float64(o.failed) / float64(max(o.requests, 1)) }

// tell returns a table of what clients saw.
func tell(events []event, r *record) string {
	var b strings.Builder
	b.WriteString("| What happens | Gone for | Requests | Failed | Share | Last failure after the loss | … after the return | Longest wait of a write |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, e := range events {
		o := e.outcome(r)
		gone, back := "—", "—"
		if !e.restored.IsZero() {
			gone, back = brief(e.restored.Sub(e.began)), brief(o.lastAfterReturn)
		}
		loss := brief(o.lastAfterLoss)
		if o.failed == 0 {
			loss, back = "none failed", "—"
		} else if o.lastAfterReturn == 0 && !e.restored.IsZero() {
			back = "none failed"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %.2f %% | %s | %s | %s |\n", e.name, gone, o.requests, o.failed, 100*o.share(), loss, back, brief(o.longest))
	}
	return b.String()
}

func brief(d time.Duration) string {
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// tellPages returns a table of the alerts, with the time from the beginning of the event
// during which each fired.
func tellPages(events []event, pages []page, name func(string) string) string {
	var b strings.Builder
	b.WriteString("| Alert | Instance or job | Severity | Fired during | Fires after | Notified after | Resolution notified after |\n|---|---|---|---|---:|---:|---:|\n")
	slices.SortStableFunc(pages, func(x, y page) int { return x.fired.Compare(y.fired) })
	for _, p := range pages {
		during := event{name: "—", began: p.fired}
		for _, e := range events {
			if !p.fired.Before(e.began) {
				during = e
			}
		}
		of := p.labels["instance"]
		if of != "" {
			of = name(of)
		}
		end := "not yet"
		if !p.toldEnd.IsZero() {
			end = brief(p.toldEnd.Sub(during.began))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", p.alert, firstOf(of, p.labels["job"], p.labels["kind"], "all"), p.severity, during.name,
			brief(p.fired.Sub(during.began)), brief(p.told.Sub(during.began)), end)
	}
	return b.String()
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func tellShown(events []event) string {
	var b strings.Builder
	b.WriteString("| What happens | Dashboard | Panel | Shows |\n|---|---|---|---:|\n")
	for _, e := range events {
		for _, s := range e.shown {
			fmt.Fprintf(&b, "| %s | %s | %s | %.3g |\n", e.name, s.dashboard, s.panel, s.value)
		}
	}
	return b.String()
}
