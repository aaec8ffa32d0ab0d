package requestlog_test

import (
	"log/slog"
	"testing"

	"github.com/kith-crm/kith/edge/internal/requestlog"
)

func TestContext(t *testing.T) {
	t.Parallel()
	e := &requestlog.Event{RequestID: "req_1"}
	ctx := requestlog.NewContext(t.Context(), e)
	requestlog.FromContext(ctx).Note(slog.String("tool", "x"))
	if requestlog.RequestID(ctx) != "req_1" || len(e.Attrs()) != 1 {
		t.Errorf("got %+v", e)
	}
}

func TestContextWithoutEvent(t *testing.T) {
	t.Parallel()
	requestlog.FromContext(t.Context()).Note(slog.String("tool", "x"))
	if id := requestlog.RequestID(t.Context()); id != "" {
		t.Errorf("request id %q", id)
	}
}
