package mcp

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

// resultMessage returns the parts of a JSON-RPC answer. A result can be large, so it is not copied.
func resultMessage(id, result jsontext.Value) [][]byte {
	return [][]byte{[]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":`), result, {'}'}}
}

// errorMessage returns a JSON-RPC error; a nil id is written as null.
func errorMessage(id jsontext.Value, f *failure) []byte {
	type errorJSON struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data,omitzero"`
	}
	return encode(struct {
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   errorJSON      `json:"error"`
	}{"2.0", id, errorJSON{f.code, f.message, f.data}})
}

// encode returns a value as JSON. Raw JSON in it keeps its bytes, except white space between tokens;
// bytes that are not UTF-8 become U+FFFD.
func encode(value any) jsontext.Value {
	text, err := json.Marshal(value, jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil
	}
	return text
}

// resultJSON is the result of tools/call.
type resultJSON struct {
	Content    []contentJSON  `json:"content"`
	Structured jsontext.Value `json:"structuredContent,omitzero"`
	IsError    bool           `json:"isError"`
	Meta       any            `json:"_meta,omitempty"`
}

// contentJSON is a block of text.
type contentJSON struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newText(text string) []contentJSON { return []contentJSON{{"text", text}} }

// toolResult returns the result of a successful tool call. As MCP requires, it has the answer
// twice: as a text block and as structuredContent, each with the member text_by_others. It reports
// false if the answer is not a JSON object.
func toolResult(answer upstream.Answer, others othersText) (jsontext.Value, bool) {
	body := jsontext.Value(answer.Body).Clone()
	if body.Compact() != nil || body.Kind() != '{' {
		return nil, false
	}
	body = slices.Concat(body[:1], others.mark(body), body[1:])
	return encode(resultJSON{Content: newText(string(body)), Structured: body, Meta: creditsOf(answer.Receipt)}), true
}

// toolError returns the result of a failed tool call, with a text for the model.
func toolError(text string, receipt upstream.Receipt) jsontext.Value {
	return encode(resultJSON{Content: newText(text), IsError: true, Meta: creditsOf(receipt)})
}

// approvalNeeded is the code of a call that waits for the member's decision.
const approvalNeeded = "approval_needed"

// approvalResult returns the result of a call that waits for the member's decision. The text is
// for the model; _meta has its code, the job that tells the outcome, and where and until when the
// member decides.
func approvalResult(err *upstream.Error) jsontext.Value {
	meta := struct {
		Code      string `json:"code"`
		TaskID    int32  `json:"task_id"`
		DecideURL string `json:"decide_url"`
		ExpiresAt string `json:"expires_at,omitzero"`
	}{Code: approvalNeeded, TaskID: err.Approval.GetTaskId(), DecideURL: err.Approval.GetDecideUrl()}
	if until := err.Approval.GetExpiresAt(); until != nil {
		meta.ExpiresAt = until.AsTime().UTC().Format(time.RFC3339)
	}
	return encode(resultJSON{Content: newText(sentence(err.Message)), IsError: true, Meta: meta})
}

// creditsOf returns what the call cost, or nil if the backend did not say so.
func creditsOf(receipt upstream.Receipt) any {
	if !receipt.Metered {
		return nil
	}
	type creditsJSON struct {
		Charged   int    `json:"charged"`
		Remaining int    `json:"remaining"`
		ResetsAt  string `json:"resets_at,omitzero"`
	}
	return map[string]creditsJSON{"credits": {receipt.Charged, receipt.Remaining, receipt.ResetsAt}}
}
