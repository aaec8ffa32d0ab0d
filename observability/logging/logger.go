package logging

import (
	"fmt"
	"io"
	"log/slog"
)

// New returns a logger that writes one line per record to w, without credentials.
//
// level is the least that is written: debug, info, warn or error. format is text
// (key=value) or json. Any other value is an error that names the accepted ones.
// Each line is one call of w.Write, and the calls do not overlap.
func New(w io.Writer, level, format string) (*slog.Logger, error) {
	least, err := parseLevel(level)
	if err != nil {
		return nil, err
	}
	out := &scrubber{next: w}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: redact}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		out := &turns{next: out}
		return slog.New(newPlain(slog.NewJSONHandler(out, options), out)), nil
	default:
		return nil, fmt.Errorf("parse log format %q: must be text or json", format)
	}
}

func parseLevel(level string) (slog.Level, error) {
	switch level {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	default:
		return 0, fmt.Errorf("parse log level %q: must be debug, info, warn or error", level)
	}
}
