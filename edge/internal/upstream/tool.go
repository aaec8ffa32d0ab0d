package upstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
)

// Answer is what a tool answered.
type Answer struct {
	// Body is the response message as JSON, exactly as the backend wrote it.
	Body []byte
	// Receipt tells whose call it was and what it cost.
	Receipt Receipt
}

// raw is a message that nobody decodes.
type raw struct {
	data []byte
}

type toolClient = connect.Client[raw, raw]

func newToolClient(caller connect.HTTPClient, address string, options []connect.ClientOption) *toolClient {
	return connect.NewClient[raw, raw](caller, address, append(slices.Clip(options), connect.WithCodec(rawJSON{}))...)
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// Procedure is the tool's, Bearer whose call it is.
	Procedure, Bearer string
	// Arguments are one JSON object. They may be reused when the call returns.
	Arguments []byte
	// Visitor is the address bucket of a caller in the sandbox, whose credential is
	// the demo account's; empty for others.
	Visitor string
	// Retry is nil for a call that will not be repeated.
	Retry *Retry
	// Patience is how much longer than others the call may take, for a tool that
	// holds its answer back when it is asked to.
	Patience time.Duration
}

// Patience is what a tool that waits gets: the longest wait of the contract.
const Patience = 20 * time.Second

// Retry makes a call one that is done once however often it is made.
type Retry struct {
	// Key is the caller's, verbatim.
	Key string
	// Fingerprint tells the requests apart that the key may stand for.
	Fingerprint string
}

// CallTool calls a tool. The error is an *Error.
func (c *Client) CallTool(ctx context.Context, call ToolCall) (Answer, error) {
	tool, ok := c.tools[call.Procedure]
	if !ok {
		return Answer{}, &Error{Kind: Internal, cause: fmt.Errorf("call %s: no such procedure", call.Procedure)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout+call.Patience)
	defer cancel()
	request := connect.NewRequest(&raw{data: call.Arguments})
	h := request.Header()
	h["Authorization"] = []string{"Bearer " + call.Bearer}
	if r := call.Retry; r != nil {
		h[headerKey], h[headerFingerprint] = []string{r.Key}, []string{r.Fingerprint}
	}
	if call.Visitor != "" {
		h[headerVisitor] = []string{call.Visitor}
	}
	response, err := tool.CallUnary(ctx, request)
	if err != nil {
		return Answer{}, classify(err)
	}
	return Answer{Body: response.Msg.data, Receipt: newReceipt(response.Header())}, nil
}
