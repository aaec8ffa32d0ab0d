package harness

import (
	"path/filepath"
	"slices"
	"testing"
)

// Topology is a way to run the service.
type Topology struct {
	Name     string
	Postgres bool
	Split    bool // the edge is a process of its own
}

var (
	SQLite   = Topology{Name: "sqlite"}
	Postgres = Topology{Name: "postgres", Postgres: true}
	Split    = Topology{Name: "split", Postgres: true, Split: true}
)

// Topologies are those that a run covers: with -short, only what needs nothing
// but this repository.
func Topologies() []Topology {
	if testing.Short() {
		return []Topology{SQLite}
	}
	return []Topology{SQLite, Postgres, Split}
}

// EachTopology runs the test once for each way to run the service, in parallel.
func EachTopology(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	EachTopologyOf(t, serviceBinary, run)
}

// The topologies that some tests are about.
func IsPostgres(way Topology) bool { return way.Postgres } // several services may share it, and it can go away

func IsSplit(way Topology) bool { return way.Split } // the backend is a process of its own

// EachTopologyThat is eachTopology of those that the test is about.
func EachTopologyThat(t *testing.T, is func(Topology) bool, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachWay(t, slices.DeleteFunc(Topologies(), func(way Topology) bool { return !is(way) }), serviceBinary, run)
}

// EachTopologyOf is eachTopology of one build. Tests of many rows or of many calls at
// once take kithBinary: with the race detector they would meet the limits of time
// that protect a service, and those are not their subject.
func EachTopologyOf(t *testing.T, binary string, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachWay(t, Topologies(), binary, run)
}

func eachWay(t *testing.T, ways []Topology, binary string, run func(t *testing.T, s *Service)) {
	t.Helper()
	t.Parallel()
	for _, way := range ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			s := NewService(t, way)
			s.Binary = binary
			s.Start()
			run(t, s)
		})
	}
}

// EachDatabase runs the test once for each database, with its address.
func EachDatabase(t *testing.T, run func(t *testing.T, databaseURL string)) {
	t.Helper()
	t.Parallel()
	for _, way := range Topologies() {
		if way.Split {
			continue
		}
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			run(t, NewDatabase(t, way))
		})
	}
}

func NewDatabase(t *testing.T, way Topology) string {
	t.Helper()
	if way.Postgres {
		return NewPostgres(t)
	}
	return filepath.Join(t.TempDir(), "data", "kith.db")
}
