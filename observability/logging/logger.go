package logging

import (
	"fmt"
	"io"
	"log/slog"
)

// New returns a logger that writes one line per record to w, without credentials.
//
// level is the lowest level that is written: debug, info, warn or error. format is
// text (key=value) or json. Any other value is an error that names the accepted ones.
// Each line is one call of w.Write, and the calls do not overlap. If w is a Buffer,
// records of the level warn and above flush it.
func New(w io.Writer, level, format string) (*slog.Logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	lowest, ok := levels[level]
	if !ok {
		return nil, fmt.Errorf("parse log level %q: must be debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: lowest, ReplaceAttr: redact}
	var handler slog.Handler
	switch format {
	case "text":
		handler = slog.NewTextHandler(tokenRemover{w}, options)
	case "json":
		handler = slog.NewJSONHandler(tokenRemover{w}, options)
	default:
		return nil, fmt.Errorf("parse log format %q: must be text or json", format)
	}
	if buffer, ok := w.(*Buffer); ok {
		handler = flushOnWarn{Handler: handler, buffer: buffer}
	}
	return slog.New(handler), nil
}
