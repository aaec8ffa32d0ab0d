package upstream

import (
	"context"
	"fmt"
	"slices"

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

// CallTool calls a tool's procedure for the bearer, with the arguments as one
// JSON object. arguments may be reused when it returns. The error is an *Error.
func (c *Client) CallTool(ctx context.Context, procedure, bearer string, arguments []byte) (Answer, error) {
	tool, ok := c.tools[procedure]
	if !ok {
		return Answer{}, &Error{Kind: Internal, cause: fmt.Errorf("call %s: no such procedure", procedure)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request := connect.NewRequest(&raw{data: arguments})
	request.Header()["Authorization"] = []string{"Bearer " + bearer}
	response, err := tool.CallUnary(ctx, request)
	if err != nil {
		return Answer{}, classify(err)
	}
	return Answer{Body: response.Msg.data, Receipt: newReceipt(response.Header())}, nil
}
