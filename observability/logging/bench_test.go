package logging_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/logging"
)

// BenchmarkLine measures the formatting of a request's log line, without the write.
func BenchmarkLine(b *testing.B) {
	logger, err := logging.New(io.Discard, "info", "json")
	if err != nil {
		b.Fatal(err)
	}
	ctx, handler := context.Background(), logger.Handler()
	b.ReportAllocs()
	for b.Loop() {
		r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
		r.AddAttrs(slog.String("request_id", "req_wyO9ZXKj5C_yHUQUTbFn"), slog.String("route", "mcp-v1"), slog.String("method", "POST"),
			slog.Int("status", 200), logging.Milliseconds("duration_ms", 1234567), logging.Milliseconds("backend_ms", 1134567))
		r.AddAttrs(slog.String("rpc", "tools/call"), slog.String("credential", "pat_01M8035FVC5MQ5K2C7P5HBDVAF"),
			slog.String("tool", "search_connections"), slog.String("outcome", "ok"), slog.String("principal", "credential"))
		_ = handler.Handle(ctx, r)
	}
}
