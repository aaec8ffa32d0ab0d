// Package dashboards declares the Grafana dashboards and renders them as the JSON that
// Grafana is provisioned with. `make gen` writes the files to observability/dashboards.
//
// A panel uses recording rules where there are some, shows nothing of a single tenant, and
// links to the page that says what to do.
package dashboards
