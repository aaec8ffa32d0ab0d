package rpc_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

// logbook records the lines of a log.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// calls returns the recorded access log lines, and clears the record.
func (l *logbook) calls(t *testing.T) (lines []map[string]any, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	text = l.text.String()
	l.text.Reset()
	for line := range strings.Lines(text) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry["msg"] == "call" {
			lines = append(lines, entry)
		}
	}
	return lines, text
}

// TestEachCallHasOneLine: each call has one log line, no matter which handler answers it
// and how it ends. The line contains nothing that the call sent.
func TestEachCallHasOneLine(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		rpcs, err := catalog.Load()
		if err != nil {
			t.Fatal(err)
		}
		book := &logbook{}
		server := httptest.NewServer(newHandlerThat(t, rpcs, s, dbtest.Ledger(t, s), time.Now, vector.Local{}, slog.New(slog.NewJSONHandler(book, nil))))
		t.Cleanup(server.Close)
		b := &bundle{store: s, rpcs: rpcs, url: server.URL, member: dbtest.Member(t, s, "maria")}
		b.bearer = dbtest.Token(t, s, b.member, rpcs.Scopes()...)
		const secret = "hunter2 the second"
		const members = "/kith.directory.v1.PublicDirectoryService/ListMembers"
		for name, tt := range map[string]struct {
			procedure, body string
			headers         []string
			want            map[string]any
		}{
			"a write":    {create, `{"name":"` + secret + `"}`, nil, map[string]any{"outcome": "ok", "tool": "create_connection", "principal": "credential", "method": create[1:]}},
			"a mistake":  {create, `{"name":""}`, nil, map[string]any{"outcome": "invalid_argument", "principal": "credential"}},
			"not found":  {get, `{"id":"con_oh347yu338"}`, nil, map[string]any{"outcome": "not_found"}},
			"no field":   {create, `{"` + secret + `":1}`, nil, map[string]any{"outcome": "invalid_argument", "principal": "credential"}},
			"no message": {create, secret, []string{"Content-Type", "application/proto"}, map[string]any{"outcome": "unread", "principal": "credential"}},
			"a dead bearer": {create, `{"name":"x"}`, []string{"Authorization", "Bearer " + secret},
				map[string]any{"outcome": "unauthenticated", "principal": "anonymous", "tool": "create_connection"}},
			"anonymous":  {members, `{}`, []string{"Authorization", ""}, map[string]any{"outcome": "ok", "principal": "anonymous", "tool": nil}},
			"no service": {get, `{}`, []string{connectheader.ServiceToken, ""}, map[string]any{"outcome": "unavailable", "level": "ERROR"}},
		} {
			b.call(t, tt.procedure, tt.body, append(tt.headers, connectheader.RequestID, "req_of-the-edge")...)
			lines, text := book.calls(t)
			if len(lines) != 1 {
				t.Errorf("%s: %d lines: %s", name, len(lines), text)
				continue
			}
			for key, want := range tt.want {
				if lines[0][key] != want {
					t.Errorf("%s: %s is %v, want %v", name, key, lines[0][key], want)
				}
			}
			if ms, _ := lines[0]["duration_ms"].(float64); ms <= 0 || lines[0]["request_id"] != "req_of-the-edge" {
				t.Errorf("%s: %v", name, lines[0])
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("%s: the log holds what was sent: %s", name, text)
			}
		}
	})
}

// TestCallInProcessIsTold: the edge alone logs an in-process call, except for internal
// errors.
func TestCallInProcessIsTold(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := dbtest.Open(t, dbtest.SQLite(t), time.Now)
	for level, want := range map[slog.Level]struct {
		fine  int // lines of a call that fails by the caller's mistake
		level any
	}{slog.LevelInfo: {0, nil}, slog.LevelDebug: {1, "DEBUG"}} {
		book := &logbook{}
		logger := slog.New(slog.NewJSONHandler(book, &slog.HandlerOptions{Level: level}))
		server := httptest.NewServer(rpc.InProcess(newHandlerThat(t, rpcs, s, dbtest.Ledger(t, s), time.Now, vector.Local{}, logger)))
		t.Cleanup(server.Close)
		b := &bundle{store: s, rpcs: rpcs, url: server.URL, member: dbtest.Member(t, s, "maria-"+strings.ToLower(level.String()))}
		b.bearer = dbtest.Token(t, s, b.member, rpcs.Scopes()...)
		b.call(t, get, `{"id":"con_oh347yu338"}`)
		if lines, text := book.calls(t); len(lines) != want.fine || want.fine > 0 && lines[0]["level"] != want.level {
			t.Errorf("%s: %s", level, text)
		}
		b.call(t, get, `{}`, connectheader.ServiceToken, "")
		if lines, text := book.calls(t); len(lines) != 1 || lines[0]["level"] != "ERROR" {
			t.Errorf("%s: an internal error: %s", level, text)
		}
	}
}
