package concurrency

import "io"

// Body returns a request's body that suspends the request while it waits for
// bytes: clients that send slowly keep nobody else out.
func (l *Limiter) Body(body io.ReadCloser) io.ReadCloser {
	return &suspendingBody{ReadCloser: body, limiter: l}
}

type suspendingBody struct {
	io.ReadCloser

	limiter *Limiter
}

// Read implements io.Reader.
func (b *suspendingBody) Read(p []byte) (int, error) {
	b.limiter.Suspend()
	defer b.limiter.Resume()
	return b.ReadCloser.Read(p)
}
