package logging

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestRemoveTokens(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"no token", "GET /mcp", "GET /mcp"},
		{"empty", "", ""},
		{"access token", "a kith_at_abc b", "a kith_at_[redacted] b"},
		{"refresh token at the end", "kith_rt_A-b_9", "kith_rt_[redacted]"},
		{"personal token in JSON", `{"a":"kith_pat_abc","b":1}`, `{"a":"kith_pat_[redacted]","b":1}`},
		{"several", "kith_at_a,kith_pat_b kith_rt_c", "kith_at_[redacted],kith_pat_[redacted] kith_rt_[redacted]"},
		{"one inside another", "kith_at_kith_pat_x y", "kith_at_[redacted] y"},
		{"after a letter", "xkith_at_abc", "xkith_at_[redacted]"},
		{"after a repeated stem", "kith_kith_at_abc", "kith_kith_at_[redacted]"},
		{"prefix alone", "a kith_at_ b", "a kith_at_ b"},
		{"prefix alone, then a token", "kith_at_.kith_rt_x", "kith_at_.kith_rt_[redacted]"},
		{"metric", "kith_http_requests_total kith_attempts", "kith_http_requests_total kith_attempts"},
		{"cut prefix", "kith_pa", "kith_pa"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line := []byte(tt.line)
			if got := string(removeTokens(line)); got != tt.want {
				t.Errorf("removeTokens(%q) = %q, want %q", tt.line, got, tt.want)
			}
			if string(line) != tt.line {
				t.Errorf("removeTokens changed its argument to %q", line)
			}
		})
	}
}

func FuzzRemoveTokens(f *testing.F) {
	f.Add([]byte("kith_at_abc"), []byte(" kith_pat_x"))
	f.Add([]byte("kith_"), []byte("kith_rt_"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		const secret = "S3cret"
		line := bytes.Join([][]byte{before, []byte("kith_pat_" + secret), after}, nil)
		clean := removeTokens(line)
		if bytes.Contains(clean, []byte("kith_pat_"+secret)) {
			t.Errorf("removeTokens(%q) = %q", line, clean)
		}
		if again := removeTokens(clean); !bytes.Equal(again, clean) {
			t.Errorf("removing tokens from %q again gives %q", clean, again)
		}
	})
}

func TestWriteCountsTheOriginalLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	line := "kith_at_abc kith_at_def\n"
	n, err := tokenRemover{&out}.Write([]byte(line))
	if n != len(line) || err != nil {
		t.Errorf("Write = %d, %v; want %d, nil", n, err, len(line))
	}
	if want := "kith_at_[redacted] kith_at_[redacted]\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
}

func TestWriteReturnsTheWritersError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	n, err := tokenRemover{failing{full}}.Write([]byte("line\n"))
	if n != 0 || !errors.Is(err, full) {
		t.Errorf("Write = %d, %v; want 0, %v", n, err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func BenchmarkRemoveTokens(b *testing.B) {
	line := []byte(strings.Repeat(`{"time":"2026-01-01T00:00:00Z","level":"INFO","msg":"answered","route":"mcp"}`, 4))
	b.ReportAllocs()
	for b.Loop() {
		removeTokens(line)
	}
}
