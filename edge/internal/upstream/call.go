package upstream

import (
	"context"
	"time"
)

// call makes one typed call within the timeout and classifies its error. The
// answer is nil if there is an error.
func call[Request, Response any](
	ctx context.Context, timeout time.Duration,
	method func(context.Context, *Request) (*Response, error), request *Request,
) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := method(ctx, request)
	if err != nil {
		return nil, classify(err)
	}
	return response, nil
}
