package main

import (
	"context"
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

// After a 304, which has no length and no body, the next response is read correctly.
func TestClientReadsResponsesWithoutABody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("the whole"))
	}))
	defer server.Close()
	c, err := dial(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	whole := get("/", "", http.StatusOK, "whole")
	header, err := c.do(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []call{get("/", "If-None-Match: "+header.Get("ETag")+"\r\n", http.StatusNotModified, ""), whole} {
		if _, err := c.do(next); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.do(get("/", "", http.StatusOK, "something else")); err == nil {
		t.Error("a response without the expected text is accepted")
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) }))
	defer server.Close()
	target := &target{
		name: "self", addr: strings.TrimPrefix(server.URL, "http://"), connections: 2, ready: 10,
		next: func(int) call { return get("/", "", http.StatusOK, "yes") },
		used: func(context.Context) (usage, error) {
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
		name: "wrong", addr: strings.TrimPrefix(server.URL, "http://"), connections: 1, ready: 1000,
		next: func(int) call { return get("/", "", http.StatusOK, "") },
		used: func(context.Context) (usage, error) { return usage{}, nil },
	}
	if _, err := target.measure(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "wrong: 404") {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, list := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 2, 3}, 7: {7}} {
		if got := median(list); got != want {
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
	a := accounts{name: "fit", count: 2, bearers: 1, people: people(50), readOnly: true}
	if err := a.fill(t.Context(), d); err != nil {
		t.Error(err)
	}
	if err := d.grants(t.Context(), a.tenant(0)); err != nil {
		t.Error(err)
	}
}
