package mcp

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

// appendToolResult appends the result of a successful tool call. As MCP requires, it has the answer
// twice: as a text block and as structuredContent, each with the member text_by_others. It reports
// false if the answer is not a JSON object.
func appendToolResult(b []byte, answer upstream.Answer, others othersText) ([]byte, bool) {
	if !isObject(answer.Body) {
		return b, false
	}
	members := answer.Body[1:]
	mark := others.mark(members)
	b = slices.Grow(b, 5*len(answer.Body)/2)
	b = append(b, `{"content":[{"type":"text","text":"{`...)
	b, _ = appendQuotedJSON(b, mark)
	b, ok := appendQuotedJSON(b, members)
	b = append(b, `"}],"structuredContent":{`...)
	b = append(b, mark...)
	b = append(b, members...)
	b = append(b, `,"isError":false`...)
	b = appendCredits(b, answer.Receipt)
	return append(b, '}'), ok
}

// appendToolError appends the result of a failed tool call, with a text for the model.
func appendToolError(b []byte, text string, receipt upstream.Receipt) []byte {
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = appendString(b, text)
	b = append(b, `}],"isError":true`...)
	b = appendCredits(b, receipt)
	return append(b, '}')
}

// approvalNeeded is the code of a call that waits for the member's decision.
const approvalNeeded = "approval_needed"

// appendApproval appends the result of a call that waits for the member's decision. The text is
// for the model; _meta has its code, the job that tells the outcome, and where and until when the
// member decides.
func appendApproval(b []byte, err *upstream.Error) []byte {
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = appendString(b, sentence(err.Message))
	b = append(b, `}],"isError":true,"_meta":{"code":"`+approvalNeeded+`","task_id":`...)
	b = strconv.AppendInt(b, int64(err.Approval.GetTaskId()), 10)
	b = appendString(append(b, `,"decide_url":`...), err.Approval.GetDecideUrl())
	if until := err.Approval.GetExpiresAt(); until != nil {
		b = appendString(append(b, `,"expires_at":`...), until.AsTime().UTC().Format(time.RFC3339))
	}
	return append(b, `}}`...)
}

// appendCredits appends what the call cost, if the backend said so.
func appendCredits(b []byte, receipt upstream.Receipt) []byte {
	if !receipt.Metered {
		return b
	}
	b = append(b, `,"_meta":{"credits":{"charged":`...)
	b = strconv.AppendInt(b, int64(receipt.Charged), 10)
	b = append(b, `,"remaining":`...)
	b = strconv.AppendInt(b, int64(receipt.Remaining), 10)
	if receipt.ResetsAt != "" {
		b = append(b, `,"resets_at":`...)
		b = appendString(b, receipt.ResetsAt)
	}
	return append(b, '}', '}')
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error only reports replaced bytes
	return b
}

// appendQuotedJSON appends src without white space between its tokens, escaped as the content
// of a JSON string. Only quotes and backslashes need escaping, because valid JSON has no other
// raw control characters than white space. It reports whether every string in src ends.
func appendQuotedJSON(b, src []byte) ([]byte, bool) {
	start, inString := 0, false
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c > '"' && c != '\\' {
			continue
		}
		switch {
		case c == '"':
			inString = !inString
			b = append(append(b, src[start:i]...), '\\', '"')
			start = i + 1
		case c == '\\' && i+1 < len(src):
			b = append(append(b, src[start:i]...), '\\', '\\')
			i++
			if src[i] == '"' || src[i] == '\\' {
				b = append(b, '\\')
			}
			start = i
		case c <= ' ' && !inString:
			b = append(b, src[start:i]...)
			start = i + 1
		case c < ' ':
			return b, false
		}
	}
	return append(b, src[start:]...), !inString
}
