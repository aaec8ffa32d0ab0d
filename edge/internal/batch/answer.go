package batch

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/problem"
)

// refusal is the body of an item that the batch itself refuses.
type refusal struct {
	Type       string       `json:"type"`
	Title      string       `json:"title"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Code       problem.Code `json:"code"`
	Batchable  []Readable   `json:"batchable,omitempty"`
	Policy     string       `json:"policy,omitzero"`
	Violated   []string     `json:"violated-policies,omitzero"`
	RetryAfter int          `json:"retry_after,omitzero"`
}

func (e *Endpoint) refuse(code problem.Code, detail string) refusal {
	return refusal{
		Type: e.BaseURL + "/docs/errors/" + string(code), Title: code.Title(), Status: code.Status(), Detail: detail, Code: code,
	}
}

// marshal turns a refusal into an outcome.
func (r refusal) marshal() *outcome {
	body, err := json.Marshal(r)
	if err != nil { // there is nothing in it that could fail
		body = []byte("null")
	}
	return &outcome{status: r.Status, contentType: "application/problem+json", body: body}
}

// overBudget is the outcome of an item that its endpoint's policy has no room for.
func (e *Endpoint) overBudget(policy string, reset time.Duration) *outcome {
	seconds := max(1, int((reset+time.Second-1)/time.Second))
	r := e.refuse(problem.RateLimited, "The budget of this endpoint is used up; the other items are not affected.")
	r.Policy, r.Violated, r.RetryAfter = policy, []string{policy}, seconds
	return r.marshal()
}

// appendAnswer writes the batch response of the items and their outcomes.
func (e *Endpoint) appendAnswer(b []byte, items []item, outcomes []*outcome) []byte {
	b = append(b, `{"object":"batch","count":`...)
	b = strconv.AppendInt(b, int64(len(items)), 10)
	b = append(b, `,"responses":[`...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		o := outcomes[i]
		if len(b)+len(o.body) > maxTotalBody {
			o = e.full
		}
		b = appendResponse(b, it.id, o)
	}
	return append(b, `]}`...)
}

func appendResponse(b []byte, id string, o *outcome) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, []byte(id))
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(o.status), 10)
	if isJSON(o.contentType) {
		b = append(b, `,"body":`...)
		b = append(b, bytes.TrimSpace(o.body)...)
	} else {
		b = append(b, `,"text":`...)
		b = appendString(b, o.body)
	}
	return append(b, '}')
}

func appendString(b, text []byte) []byte {
	quoted, err := jsontext.AppendQuote(b, text)
	if err != nil { // replaces what is no UTF-8
		quoted, _ = jsontext.AppendQuote(b, bytes.ToValidUTF8(text, []byte("\uFFFD")))
	}
	return quoted
}

// isJSON tells whether a body can stand in the answer as it is.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
