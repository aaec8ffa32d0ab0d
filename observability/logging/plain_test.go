package logging

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"testing"
	"time"
)

// TestPlainLinesAreThoseOfTheLibrary: of whatever kind a value is, and however odd.
func TestPlainLinesAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	values := []any{
		"mcp-v1", "", `a "quoted" \ one`, "line\nbreak", "S\u00f8ren \u2028", "<script>&", "\xff", "\x7f", 0, -7, int64(math.MaxInt64), uint64(3), true, false,
		0.0, math.Copysign(0, -1), 1.235, 1e-6, 9.99e-7, -12.5, 1e20, 1e21, math.MaxFloat64, math.NaN(), math.Inf(1), time.Second, time.Unix(0, 0),
		errors.New("x"), nil, []byte("kith_pat_secret"), map[string]string{"password": "x"}, slog.GroupValue(slog.String("token", "x")),
		slog.GroupValue(), "kith_pat_0123456789",
	}
	keys := []string{"route", "", "password", "Set-Cookie", "TOKEN", "id\"", "Id", "idempotency-key", "dur_ms", "credential"}
	at := time.Date(2026, 11, 21, 22, 1, 2, 345678900, time.FixedZone("", 3600))
	plains := 0
	for _, key := range keys {
		for _, value := range values {
			for _, when := range []time.Time{at, at.UTC(), {}} {
				r := slog.NewRecord(when, slog.LevelInfo, "request", 0)
				r.AddAttrs(slog.String("request_id", "req_1"), slog.Any(key, value), slog.Int("last", 1))
				if _, ok := appendRecord(nil, r); ok {
					plains++
				}
				var got, want bytes.Buffer
				below := func(out *bytes.Buffer) slog.Handler {
					return slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: redact})
				}
				gotErr, wantErr := newPlain(below(&got), &got).Handle(t.Context(), r), below(&want).Handle(t.Context(), r)
				if got.String() != want.String() || (gotErr == nil) != (wantErr == nil) {
					t.Errorf("%q %v:\n%s\n%s", key, value, got.String(), want.String())
				}
			}
		}
	}
	if plains < len(values) {
		t.Errorf("only %d records were plain", plains)
	}
}
