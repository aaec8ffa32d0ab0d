package logging

import (
	"log/slog"
	"math"
	"time"
)

// Milliseconds is an attribute of a duration in milliseconds, to the microsecond.
// Its key should end in _ms.
func Milliseconds(key string, d time.Duration) slog.Attr {
	const perMilli = 1000
	return slog.Float64(key, math.Round(float64(d)/float64(time.Microsecond))/perMilli)
}
