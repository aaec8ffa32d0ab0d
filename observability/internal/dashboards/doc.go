// Package dashboards declares the Grafana dashboards and renders them as the JSON that
// Grafana is provisioned with. `make gen` writes the files to observability/dashboards.
//
// A panel uses recording rules where they exist, shows no data of a single tenant, and links to the
// runbook or page that says what to do.
package dashboards
