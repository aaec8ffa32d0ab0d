package batch

import (
	"net/url"

	"github.com/kith-crm/kith/edge/internal/route"
)

// Readable is a batchable read in the allowlist that refused items get.
type Readable struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Query  []string `json:"query"`
}

// Allowlist returns the batchable reads of a route table.
func Allowlist(rows []route.Route) []Readable {
	var list []Readable
	for _, r := range batchable(rows) {
		query := r.Query
		if query == nil {
			query = []string{}
		}
		list = append(list, Readable{Method: r.Methods[0], Path: r.Pattern, Query: query})
	}
	return list
}

func batchable(rows []route.Route) []route.Route {
	var out []route.Route
	for _, r := range rows {
		if r.Batchable {
			out = append(out, r)
		}
	}
	return out
}

// read is what one or more items ask for: a row of the table, and its answer.
type read struct {
	row      route.Route
	argument string
	path     string
	query    string
	outcome  *outcome
}

// key is the same for items that ask for the same.
func (r *read) key() string { return r.row.Name + " " + r.argument + "?" + r.query }

func (r *read) target() string {
	if r.query == "" {
		return r.path
	}
	return r.path + "?" + r.query
}

// resolve finds the row of an item; nil when it is no batchable read.
func (e *Endpoint) resolve(path string, query url.Values) *read {
	row, argument, ok := e.finder.Find(path)
	if !ok {
		return nil
	}
	r := &read{row: row, argument: argument, path: path}
	if len(query) > 0 {
		r.query = query.Encode()
	}
	return r
}
