package openapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkExamples: the server gives the example answer to the example body of the same name,
// or to the documented request.
func (c *contract) checkExamples(t *testing.T) {
	compared := 0
	for _, op := range c.operations {
		for status, response := range op.Responses.Map() {
			if op.page() || status >= "300" {
				continue
			}
			for _, media := range response.Value.Content {
				for name, example := range media.Examples {
					if op.RequestBody != nil && !hasExample(op.RequestBody.Value, name) || op.OperationID == "getTokens" {
						continue // checkTokens has the tokens for it
					}
					compared++
					got := c.ask(t, op, c.asDocumented(t, op, name))
					if text, isText := example.Value.Value.(string); isText {
						if timesOf(text) != timesOf(got.Body) {
							t.Errorf("%s: the example is\n%s\nand the answer is\n%s", op.OperationID, text, got.Body)
						}
						continue
					}
					var live any
					if err := json.Unmarshal([]byte(got.Body), &live); err != nil {
						t.Fatal(err)
					}
					if place := differs(example.Value.Value, live); place != "" {
						t.Errorf("%s: the example %s differs at %s from %s", op.OperationID, name, place, got.Body)
					}
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d examples were compared", compared)
	}
}

func hasExample(b *openapi3.RequestBody, name string) bool {
	for _, media := range b.Content {
		if media.Examples[name] != nil {
			return true
		}
	}
	return false
}

// timePattern and idPattern match values that differ in each run.
var (
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	waitPattern = regexp.MustCompile(`in \d+ seconds?`)
	idPattern   = regexp.MustCompile(`^(req|con|cli)_`)
)

func timesOf(text string) string { return timePattern.ReplaceAllString(text, "(a time)") }

// differs returns the place where an answer differs from its example, or "". The answer may
// have more members, and more items at the end of a list; an example text that ends in an
// ellipsis is a prefix. Times and ids may differ.
func differs(example, live any) string {
	switch e := example.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return "."
		}
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if name == "next_cursor" && e[name] != nil && l[name] != nil || name == "client_id_issued_at" && l[name] != nil {
				continue
			}
			if place := differs(e[name], l[name]); place != "" {
				return "." + name + strings.TrimSuffix(place, ".")
			}
		}
		return ""
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) < len(e) {
			return "."
		}
		for i := range e {
			if place := differs(e[i], l[i]); place != "" {
				return "[]" + place
			}
		}
		return ""
	case string:
		l, ok := live.(string)
		if ok && sameText(e, l) {
			return ""
		}
		return "."
	default:
		if example != live {
			return "."
		}
		return ""
	}
}

func sameText(example, live string) bool {
	if start, cut := strings.CutSuffix(example, "…"); cut {
		return strings.HasPrefix(live, start)
	}
	_, noTime := time.Parse(time.RFC3339, example)
	_, noTimeEither := time.Parse(time.RFC3339, live)
	if noTime == nil && noTimeEither == nil {
		return true
	}
	if kind := idPattern.FindString(example); kind != "" {
		return strings.HasPrefix(live, kind)
	}
	return example == live
}

// checkBounds: the server has the bounds of the description. A value at a bound is accepted
// and the next one is refused.
func (c *contract) checkBounds(t *testing.T) {
	members := c.operations["listMembers"]
	parameter := func(name string) *openapi3.Schema {
		return members.Parameters.GetByInAndName(openapi3.ParameterInQuery, name).Schema.Value
	}
	try := func(what string, op *operation, k call, taken bool) {
		t.Helper()
		if got := c.ask(t, op, k); (got.Status < http.StatusBadRequest) != taken {
			t.Errorf("%s: got %d %s", what, got.Status, harness.Excerpt(got.Body))
		}
	}
	search := func(name, value string) call {
		return call{path: "/api/network/members?" + url.Values{name: {value}}.Encode()}
	}
	perPage := parameter("per_page")
	try("the smallest page", members, search("per_page", plainText(t, *perPage.Min)), true)
	try("a smaller page", members, search("per_page", plainText(t, *perPage.Min-1)), false)
	try("the largest page", members, search("per_page", plainText(t, *perPage.Max)), true)
	try("a larger page", members, search("per_page", plainText(t, *perPage.Max+1)), false)
	try("the longest search", members, search("q", strings.Repeat("é", int(*parameter("q").MaxLength))), true)
	try("a longer search", members, search("q", strings.Repeat("é", int(*parameter("q").MaxLength)+1)), false)
	var page struct {
		Data    []any
		HasMore bool `json:"has_more"`
	}
	if got := c.ask(t, members, call{path: "/api/network/members"}); json.Unmarshal([]byte(got.Body), &page) != nil ||
		!page.HasMore || float64(len(page.Data)) != perPage.Default {
		t.Errorf("a page has %d entries by default, and %v is documented", len(page.Data), perPage.Default)
	}
	c.checkBatchBounds(t, try)
	c.checkClientBounds(t, try)
}

func (c *contract) checkBatchBounds(t *testing.T, try func(what string, op *operation, k call, taken bool)) {
	t.Helper()
	op := c.operations["readBatch"]
	list := op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["requests"].Value
	item := list.Items.Value.Properties
	batch := func(n, id, parameters int) call {
		query := map[string]any{}
		for i := range parameters {
			query["x"+plainText(t, i)] = i
		}
		var items []any
		for i := range n {
			items = append(items, map[string]any{
				"id": strings.Repeat("x", id-2) + plainText(t, 10+i), "path": "/api/human/demo", "query": query,
			})
		}
		return call{path: op.path, body: harness.Encode(t, map[string]any{"requests": items}), headers: []string{harness.JSONType}}
	}
	items, id, parameters := int(*list.MaxItems), int(*item["id"].Value.MaxLength), int(*item["query"].Value.MaxProps)
	try("the longest batch", op, batch(items, id, parameters), true)
	try("a longer batch", op, batch(items+1, 4, 0), false)
	try("a longer id", op, batch(1, id+1, 0), false)
	try("more parameters", op, batch(1, 4, parameters+1), false)
}

func (c *contract) checkClientBounds(t *testing.T, try func(what string, op *operation, k call, taken bool)) {
	t.Helper()
	op := c.operations["registerClient"]
	client := op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties
	uris, address := client["redirect_uris"].Value, client["client_uri"].Value
	register := func(n, length, addressLength int) call {
		var list []string
		for i := range n {
			list = append(list, longAddress(length-2)+plainText(t, 10+i))
		}
		return call{path: op.path, headers: []string{harness.JSONType}, body: harness.Encode(t, map[string]any{
			"redirect_uris": list, "client_uri": longAddress(addressLength),
		})}
	}
	most, length, addressLength := int(*uris.MaxItems), int(*uris.Items.Value.MaxLength), int(*address.MaxLength)
	try("the most addresses", op, register(most, 100, 100), true)
	try("the longest addresses", op, register(1, length, addressLength), true)
	try("more addresses", op, register(most+1, 100, 100), false)
	try("a longer redirect address", op, register(1, length+1, 100), false)
	try("a longer address", op, register(1, 100, addressLength+1), false)
}

func longAddress(length int) string {
	const start = "https://client.example/"
	return start + strings.Repeat("x", length-len(start))
}
