package rpc

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// TestErrorsOnTheWire checks what callers get for errors without a code, such as a
// connection that breaks while rows are read.
func TestErrorsOnTheWire(t *testing.T) {
	translator := translator{logger: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		err  error
		want connect.Code
	}{
		{driver.ErrBadConn, connect.CodeUnavailable},
		{fault.New(fault.NotFound, "no such person"), connect.CodeNotFound},
		{connect.NewError(connect.CodeAborted, errors.New("again")), connect.CodeAborted},
		{context.Canceled, connect.CodeCanceled},
		{context.DeadlineExceeded, connect.CodeDeadlineExceeded},
		{errors.New("a mistake of ours"), connect.CodeInternal},
	} {
		got := translator.translate(t.Context(), "kith.test", fmt.Errorf("read a row: %w", c.err))
		if connect.CodeOf(got) != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	if err := translator.translate(t.Context(), "kith.test", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
