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

// read is an item that the route table has: what to ask whom.
type read struct {
	row      route.Route
	argument string
	target   string
	query    string
}

// key is the same for items that ask for the same.
func (r *read) key() string { return r.row.Name + " " + r.argument + "?" + r.query }

// resolve finds the row of an item; nil when it is no batchable read.
func (e *Endpoint) resolve(path string, query url.Values) *read {
	row, argument, ok := e.finder.Find(path)
	if !ok {
		return nil
	}
	r := &read{row: row, argument: argument, target: path, query: query.Encode()}
	if r.query != "" {
		r.target += "?" + r.query
	}
	return r
}
