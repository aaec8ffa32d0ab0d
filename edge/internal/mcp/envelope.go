package mcp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

// appendResultHead appends a JSON-RPC answer up to its result. A brace closes it.
func appendResultHead(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	return append(b, `,"result":`...)
}

// appendToolResult appends the result of a tool that answered: the answer twice,
// as MCP wants it, in one text block and as structuredContent. It reports false
// if the answer is no JSON object.
func appendToolResult(b []byte, answer upstream.Answer) ([]byte, bool) {
	if !isObject(answer.Body) {
		return b, false
	}
	b = append(b, `{"content":[{"type":"text","text":"`...)
	b, ok := appendQuotedJSON(b, answer.Body)
	b = append(b, `"}],"structuredContent":`...)
	b = appendCompactJSON(b, answer.Body)
	b = append(b, `,"isError":false`...)
	b = appendCredits(b, answer.Receipt)
	return append(b, '}'), ok
}

// appendToolError appends the result of a tool that failed, for the model to read.
func appendToolError(b []byte, text string, receipt upstream.Receipt) []byte {
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = appendString(b, text)
	b = append(b, `}],"isError":true`...)
	b = appendCredits(b, receipt)
	return append(b, '}')
}

// appendCredits appends what the call cost, if the backend told.
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
	b, _ = jsontext.AppendQuote(b, s) // the error only tells of the replacement
	return b
}
