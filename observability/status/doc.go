// Package status serves a page with the key figures of one process over the last hour,
// for operators without Grafana.
//
// A Recorder reads the process's own metrics every 15 seconds and keeps the last hour in
// memory. The first line of the page says whether anything is wrong, by the limits of the alert
// rules. The page has no script and loads no other files. It shows only its own process: for a
// service of several processes, use Prometheus and the dashboards.
package status
