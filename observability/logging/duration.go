package logging

import (
	"log/slog"
	"math"
	"time"
)

// Milliseconds returns an attribute with a duration in milliseconds, rounded to the
// microsecond. The key should end in _ms.
func Milliseconds(key string, d time.Duration) slog.Attr {
	const perMilli = 1000
	return slog.Float64(key, math.Round(float64(d)/float64(time.Microsecond))/perMilli)
}
