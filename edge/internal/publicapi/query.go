package publicapi

import (
	"strconv"
	"unicode/utf8"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Bounds of the directory's query.
const (
	maxQueryRunes  = 200
	maxPerPage     = 100
	maxCursorBytes = 512
)

// readListQuery reads the query of a directory page. Parameters that it does not
// know are left alone; a known one may be there once.
func readListQuery(raw string) (*directoryv1.ListMembersRequest, []problem.Field) {
	request := &directoryv1.ListMembersRequest{}
	values, err := route.ParseQuery(raw)
	if err != nil {
		return nil, []problem.Field{{Field: "", Message: err.Error()}}
	}
	var faults []problem.Field
	read := func(name string, accept func(value string) string) {
		list, ok := values[name]
		switch {
		case !ok:
			return
		case len(list) > 1:
			faults = append(faults, problem.Field{Field: name, Message: "must be there once"})
		default:
			if message := accept(list[0]); message != "" {
				faults = append(faults, problem.Field{Field: name, Message: message})
			}
		}
	}
	read("q", func(value string) string {
		if utf8.RuneCountInString(value) > maxQueryRunes {
			return "must be at most 200 characters"
		}
		if value != "" {
			request.Q = &value
		}
		return ""
	})
	read("per_page", func(value string) string {
		n, ok := plainInteger(value)
		if !ok || n < 1 || n > maxPerPage {
			return "must be an integer from 1 to 100"
		}
		request.PerPage = &n
		return ""
	})
	read("cursor", func(value string) string {
		if value == "" || len(value) > maxCursorBytes {
			return "must be the next_cursor of a page"
		}
		request.Cursor = &value
		return ""
	})
	return request, faults
}

// plainInteger reads one to three digits, with no sign, space or leading zero.
func plainInteger(s string) (int32, bool) {
	if s == "" || len(s) > 3 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil
}
