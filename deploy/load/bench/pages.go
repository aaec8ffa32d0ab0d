package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// pageRow is a page for people, beside the tool that reads the same.
type pageRow struct {
	name, path, holds string
	// tool is the row of the tool, and aim the most that the page should cost, in calls of it.
	tool string
	aim  float64
}

// pageSize is a size of the network at which only pages are measured: their cost at 100,000
// people is compared with it.
const pageSize = 100

// pageRows returns the pages to measure.
func (b *bench) pageRows() []pageRow {
	var rows []pageRow
	for _, row := range []pageRow{
		{"page of the list of people", "/people", "</html>", "search_connections", 2.5},
		{"page of a search", "/people?q={name}", "{name}", "search_connections", 2.5},
		{"page of a person", "/people/{person}", "{name}", "get_connection", 2},
		{"page of today", "/", "</html>", "list_due", 2},
	} {
		if b.row.MatchString(row.name) {
			rows = append(rows, row)
		}
	}
	return rows
}

// page returns the target of a page, as a signed-in browser asks for it.
func (m *member) page(ctx context.Context, row pageRow, size int) (*target, error) {
	n := 0
	return m.oneByOne(ctx, row.name, size, true, func() (call, error) {
		n++
		path, query, _ := strings.Cut(row.path, "?q=")
		if path = m.fill(path, n); query != "" {
			path += "?q=" + url.QueryEscape(m.fill(query, n))
		}
		return get(path, "Cookie: kith_session="+m.session+"\r\n", http.StatusOK, m.fill(row.holds, n)), nil
	})
}

// comparePages compares each page with its tool, and with itself at other sizes of the network.
func (b *bench) comparePages(at map[string]map[int]*target) (list []comparison) {
	for _, row := range b.pageRows() {
		for _, t := range at[row.name] {
			list = append(list, comparison{of: t})
		}
		if page, tool := at[row.name][usualSize], at[row.tool][usualSize]; page != nil && tool != nil {
			list = append(list, comparison{what: row.name + " : " + row.tool, of: page, to: tool, aim: row.aim})
		}
		if small, large := at[row.name][pageSize], at[row.name][100_000]; small != nil && large != nil {
			list = append(list, comparison{what: row.name + ", 100,000 : 100 people", of: large, to: small, aim: 2})
		}
	}
	return list
}
