// Package dashboards declares the dashboards for Grafana, each panel once, and
// renders them as the JSON that Grafana is provisioned with. `make gen` writes it to
// observability/dashboards.
//
// A panel asks for recorded rules where there are some, and shows nothing of one
// tenant. It has a link where there is a page that says what to do about it.
package dashboards
