package batch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
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

// parse reads an envelope. What is wrong with it comes back as faults, or, when
// it cannot be read at all, as an error that may be shown.
func parse(body []byte) ([]item, []problem.Field, error) {
	var e envelope
	if err := json.Unmarshal(body, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, explain(err)
	}
	switch {
	case e.Requests == nil:
		return nil, []problem.Field{{Field: "requests", Message: "is required: a list of 1 to 20 items"}}, nil
	case len(*e.Requests) == 0 || len(*e.Requests) > MaxItems:
		return nil, []problem.Field{{
			Field: "requests", Message: fmt.Sprintf("takes 1 to %d items, and there are %d", MaxItems, len(*e.Requests)),
		}}, nil
	}
	return check(*e.Requests)
}

func check(requests []request) ([]item, []problem.Field, error) {
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
	return items, faults, nil
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

// explain says what is wrong with a body, and where, without repeating it.
func explain(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		if errors.Is(err, json.ErrUnknownName) {
			return fmt.Errorf("%s is not known here", place(semantic.JSONPointer))
		}
		return fmt.Errorf("%s has the wrong type", place(semantic.JSONPointer))
	}
	return errors.New("the body is not well-formed JSON")
}

// place writes a JSON pointer as people do: requests[0].path.
func place(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(token))
	}
	if b.Len() == 0 {
		return "the body"
	}
	return b.String()
}

// clip keeps a name of the caller's own making short.
func clip(name string) string {
	const most = 40
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}
