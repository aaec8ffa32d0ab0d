package tracing

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := failures{logger: slog.New(slog.NewTextHandler(&log, nil))}
		for range 5 {
			f.log(t.Context(), errors.New("refused"))
		}
		time.Sleep(time.Minute)
		f.log(t.Context(), errors.New("refused"))
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "failures_not_logged=4") {
			t.Errorf("got %s", got)
		}
	})
}
