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
		got := translator.translate(t.Context(), fmt.Errorf("read a row: %w", c.err))
		if connect.CodeOf(got) != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	hungUp, hangUp := context.WithCancel(t.Context())
	hangUp()
	for err, want := range map[error]connect.Code{
		driver.ErrBadConn:                      connect.CodeCanceled, // what a driver says of a cancelled statement
		errors.New("interrupted"):              connect.CodeCanceled,
		fault.New(fault.NotFound, "no person"): connect.CodeNotFound,
	} {
		if got := translator.translate(hungUp, fmt.Errorf("read a row: %w", err)); connect.CodeOf(got) != want {
			t.Errorf("%v of a caller who hung up: %v, want %v", err, got, want)
		}
	}
	if err := translator.translate(t.Context(), nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
