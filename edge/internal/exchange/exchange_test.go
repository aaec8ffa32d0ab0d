package exchange_test

import (
	"log/slog"
	"testing"

	"github.com/kith-crm/kith/edge/internal/exchange"
)

func TestContext(t *testing.T) {
	t.Parallel()
	e := &exchange.Exchange{RequestID: "req_1"}
	ctx := exchange.NewContext(t.Context(), e)
	exchange.FromContext(ctx).Note(slog.String("tool", "x"))
	if exchange.RequestID(ctx) != "req_1" || len(e.Attrs()) != 1 {
		t.Errorf("got %+v", e)
	}
}

func TestContextWithoutExchange(t *testing.T) {
	t.Parallel()
	exchange.FromContext(t.Context()).Note(slog.String("tool", "x"))
	if id := exchange.RequestID(t.Context()); id != "" {
		t.Errorf("request id %q", id)
	}
}
