package batch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/problem"
)

// Bounds of a batch. MaxItems is the specification's.
const (
	MaxItems = 20
	// maxBody is in bytes: twenty long directory queries.
	maxBody = 128 << 10
	// maxID is in bytes.
	maxID = 128
	// maxParameters is how many query parameters an item may have.
	maxParameters = 16
)

// envelope is the body of a batch.
type envelope struct {
	Requests *[]request `json:"requests"`
}

// request is an item as it was sent.
type request struct {
	ID    *string              `json:"id"`
	Path  *string              `json:"path"`
	Query map[string]parameter `json:"query"`
}

// parameter is a query parameter's value: a string or an integer.
type parameter string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *parameter) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	token, err := decoder.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '"':
		*p = parameter(token.String())
		return nil
	case '0':
		if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
			*p = parameter(strconv.FormatInt(n, 10))
			return nil
		}
	}
	return errors.New("must be a string or an integer")
}

// item is a request of a valid envelope.
type item struct {
	id, path string
	query    url.Values
}

// items checks an envelope. What is wrong with it comes back as faults.
func (e envelope) items() ([]item, []problem.Field) {
	switch {
	case e.Requests == nil:
		return nil, []problem.Field{{Field: "requests", Message: "is required: a list of 1 to 20 items"}}
	case len(*e.Requests) == 0 || len(*e.Requests) > MaxItems:
		return nil, []problem.Field{{
			Field: "requests", Message: fmt.Sprintf("takes 1 to %d items, and there are %d", MaxItems, len(*e.Requests)),
		}}
	}
	return check(*e.Requests)
}

func check(requests []request) ([]item, []problem.Field) {
	items := make([]item, len(requests))
	seen := make(map[string]bool, len(requests))
	var faults []problem.Field
	for i, r := range requests {
		fault := func(field, message string) {
			faults = append(faults, problem.Field{Field: fmt.Sprintf("requests[%d].%s", i, field), Message: message})
		}
		switch {
		case r.ID == nil || *r.ID == "":
			fault("id", "is required: it is echoed on the answer")
		case len(*r.ID) > maxID:
			fault("id", fmt.Sprintf("takes %d bytes at most", maxID))
		case seen[*r.ID]:
			fault("id", "is there twice in this batch")
		default:
			seen[*r.ID] = true
			items[i].id = *r.ID
		}
		if r.Path == nil {
			fault("path", "is required: the path of a read")
		} else {
			items[i].path = *r.Path
		}
		if len(r.Query) > maxParameters {
			fault("query", fmt.Sprintf("takes %d parameters at most", maxParameters))
			continue
		}
		items[i].query = values(r.Query)
	}
	return items, faults
}

func values(query map[string]parameter) url.Values {
	if len(query) == 0 {
		return nil
	}
	v := make(url.Values, len(query))
	for name, value := range query {
		v.Set(name, string(value))
	}
	return v
}
