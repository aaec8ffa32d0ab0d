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
// Each line is one call of w.Write, and the calls do not overlap. Where w is a
// Buffer, records of the level warn and above are written through it at once.
func New(w io.Writer, level, format string) (*slog.Logger, error) {
	least, err := parseLevel(level)
	if err != nil {
		return nil, err
	}
	handler, err := newHandler(&scrubber{next: w}, format, &slog.HandlerOptions{Level: least, ReplaceAttr: redact})
	if err != nil {
		return nil, err
	}
	if buffer, ok := w.(*Buffer); ok {
		handler = prompt{Handler: handler, buffer: buffer}
	}
	return slog.New(handler), nil
}

func newHandler(w io.Writer, format string, options *slog.HandlerOptions) (slog.Handler, error) {
	switch format {
	case "text":
		return slog.NewTextHandler(w, options), nil
	case "json":
		w := &turns{next: w}
		return newPlain(slog.NewJSONHandler(w, options), w), nil
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
