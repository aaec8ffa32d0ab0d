package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPeopleHaveDistinctNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range people(100_000) {
		if seen[p.name()] {
			t.Fatalf("%s occurs twice", p.name())
		}
		seen[p.name()] = true
	}
}

func TestMisspeltKeepsTheLetters(t *testing.T) {
	t.Parallel()
	if got := (person{given: "Ada", surname: "Barabach"}).misspelt(); got != "Ada Baarbach" {
		t.Errorf("got %q", got)
	}
}

func TestSendChecksTheResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		switch {
		case r.Header.Get("Accept-Encoding") != "":
			w.WriteHeader(http.StatusBadRequest)
		case r.Header.Get("If-None-Match") == `"one"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = w.Write([]byte("the whole, and the whole"))
		}
	}))
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")
	_, header, err := get("/", "whole").send(addr)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := get("/", "").with("If-None-Match", header.Get("ETag"))
	if _, _, err := unchanged.send(addr); err == nil {
		t.Error("a 304 is accepted where a 200 is expected")
	}
	unchanged.status = http.StatusNotModified
	twice, thrice := get("/", "whole"), get("/", "whole")
	twice.times, thrice.times = 2, 3
	for _, right := range []call{unchanged, twice} {
		if _, _, err := right.send(addr); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []call{thrice, get("/", "something else")} {
		if _, _, err := wrong.send(addr); err == nil {
			t.Error("a response without the expected text is accepted")
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) }))
	defer server.Close()
	target := &target{
		name: "self", addr: strings.TrimPrefix(server.URL, "http://"), ready: 10,
		next: func(int) call { return get("/", "yes") },
		used: func() (usage, error) {
			own, err := cpuTime(os.Getpid())
			return usage{service: own}, err
		},
	}
	s, err := target.measure(t.Context(), 100*time.Millisecond)
	if err != nil || s.Calls == 0 || s.Service <= 0 || s.P50 <= 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if made := target.made.Load(); made < 10 {
		t.Errorf("measured after %d calls", made)
	}
}

func TestMeasureFailsOnAWrongResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	target := &target{
		name: "wrong", addr: strings.TrimPrefix(server.URL, "http://"), ready: 1000,
		next: func(int) call { return get("/", "") },
		used: func() (usage, error) { return usage{}, nil },
	}
	if _, err := target.measure(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "wrong: GET /: 404") {
		t.Errorf("got %v", err)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for want, list := range map[float64][]float64{2: {3, 1, 2}, 7: {7}, 0: nil} {
		if got := quantile(0.5, list); got != want {
			t.Errorf("the median of %v is %v, want %v", list, got, want)
		}
	}
}

// The rows that the benchmark inserts fit the tables of the service.
func TestInsertedRowsFitTheTables(t *testing.T) {
	t.Parallel()
	schemas, err := filepath.Glob("../../../backend/internal/db/migrations/sqlite/2*.sql")
	if err != nil || len(schemas) == 0 {
		t.Fatalf("no schema: %v", err)
	}
	d := &database{url: filepath.Join(t.TempDir(), "bench.db")}
	if err := d.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.db.Close() })
	for _, schema := range schemas {
		tables, err := os.ReadFile(schema)
		if err != nil {
			t.Fatal(err)
		}
		own, _, _ := strings.Cut(string(tables), "{{") // the triggers that follow are not needed
		if _, err := d.db.ExecContext(t.Context(), own); err != nil {
			t.Fatal(err)
		}
	}
	a := accounts{name: "fit", count: 2, bearers: 1, readOnly: true}
	if err := a.fill(t.Context(), d); err != nil {
		t.Error(err)
	}
	if err := d.grants(t.Context(), a.tenant(0)); err != nil {
		t.Error(err)
	}
	if err := d.exec(t.Context(), "INSERT INTO tags (tenant_id, id, name, folded_name) VALUES ('"+a.tenant(0)+"', 'tag_1', 'one', 'one')"); err != nil {
		t.Error(err)
	}
	if err := a.copy(t.Context(), d); err != nil {
		t.Error(err)
	}
	var tags, readOnly int
	if err := d.db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM tags), (SELECT count(*) FROM tenant_states WHERE read_only)").Scan(&tags, &readOnly); err != nil || tags != 2 || readOnly != 2 {
		t.Errorf("%d tags and %d read-only accounts, want 2 and 2: %v", tags, readOnly, err)
	}
}
