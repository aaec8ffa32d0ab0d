package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// endpoint is the dispatcher under one path.
type endpoint struct {
	*Dispatcher

	mount          Mount
	challenge      string
	greeting       *greeting
	anonymousTools []byte // the result of tools/list for a caller without a bearer
}

// call is one JSON-RPC message on its way through the endpoint.
type call struct {
	message

	bearer    bearer.Bearer
	visitor   string                         // the caller's address bucket, in the sandbox only
	principal *accessv1.GetPrincipalResponse // nil unless a bearer was checked
	retry     *upstream.Retry                // nil without an Idempotency-Key
	replayed  bool                           // the answer is that of an earlier call
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request, _ string) {
	s := e.pool.get()
	defer e.pool.release(s)
	if f := e.gate.admit(r); f != nil {
		e.writeFailure(w, s, nil, f)
		return
	}
	body, f := s.read(w, r)
	if f != nil {
		e.writeFailure(w, s, nil, f)
		return
	}
	m, fault := s.decoder.decode(body)
	if fault != nil {
		e.writeFailure(w, s, nil, &failure{status: http.StatusBadRequest, code: fault.code, message: fault.message})
		return
	}
	c := &call{message: m, bearer: bearer.Read(r.Header)}
	if c.retry, f = e.readKey(r, c, body); f != nil {
		e.writeFailure(w, s, nil, f)
		return
	}
	e.serveMessage(w, r, s, c)
}

func (e *endpoint) serveMessage(w http.ResponseWriter, r *http.Request, s *scratch, c *call) {
	note(r.Context(), c)
	if f := admitVersion(r.Header, c.method); f != nil {
		e.writeFailure(w, s, nil, f)
		return
	}
	if f := e.authenticate(r, c); f != nil {
		e.writeFailure(w, s, c.id, f)
		return
	}
	if c.kind != request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := appendResultHead(s.out[:0], c.id)
	out, f := e.dispatch(r.Context(), out, c)
	if c.replayed {
		w.Header()["Idempotency-Replayed"] = []string{"true"}
	}
	if f != nil {
		e.writeFailure(w, s, c.id, f)
		return
	}
	s.out = append(out, '}')
	write(w, http.StatusOK, s.out)
}

// note names the method in the log line, unless the caller made it up.
func note(ctx context.Context, c *call) {
	method := "other"
	switch c.method {
	case methodInitialize, methodPing, methodListTools, methodCallTool:
		method = c.method
	}
	exchange.FromContext(ctx).Note(slog.String("rpc", method))
}

// dispatch appends the result of a request to out.
func (e *endpoint) dispatch(ctx context.Context, out []byte, c *call) ([]byte, *failure) {
	switch c.method {
	case methodInitialize:
		return e.initialize(out, c)
	case methodPing:
		return append(out, '{', '}'), nil
	case methodListTools:
		return e.listTools(out, c)
	case methodCallTool:
		return e.callTool(ctx, out, c)
	default:
		return out, answerError(codeUnknownMethod, "This server has no such method.")
	}
}

// write sends a JSON body.
func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Cache-Control"] = []string{"no-store"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone
}
