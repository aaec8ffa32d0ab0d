// Package status is a page with the key figures of one process over the last hour,
// for those who have no Grafana at hand.
//
// A Recorder reads the process's own metrics every quarter of a minute and keeps the
// last hour in memory. The page is rendered here, runs no script, and loads nothing.
// What other processes do it does not know: a service of several is watched by
// Prometheus, whose dashboards show the same figures.
package status
