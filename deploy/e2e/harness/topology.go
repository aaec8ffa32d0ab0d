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

// The ways to run the service.
var (
	SQLite   = Topology{Name: "sqlite"}
	Postgres = Topology{Name: "postgres", Postgres: true}
	Split    = Topology{Name: "split", Postgres: true, Split: true}
)

// Topologies returns the ways that a run covers: with -short, only the one that needs
// nothing outside this repository.
func Topologies() []Topology {
	if testing.Short() {
		return []Topology{SQLite}
	}
	return []Topology{SQLite, Postgres, Split}
}

// EachTopology runs the test once for each way to run the service, in parallel, on
// services that all such tests of the package share. A test uses its own members
// there; it doesn't stop the service and doesn't change what other tests see.
func EachTopology(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachShared(t, Topologies(), run)
}

// EdgeOnly is EachTopology for requests that the edge answers by itself: it uses only the
// topology with a separate edge process.
func EdgeOnly(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachShared(t, []Topology{EdgeTopology()}, run)
}

// EdgeTopology is the topology whose edge is a process of its own; with -short, the
// only one there is.
func EdgeTopology() Topology {
	ways := Topologies()
	return ways[len(ways)-1]
}

func eachShared(t *testing.T, ways []Topology, run func(t *testing.T, s *Service)) {
	t.Helper()
	t.Parallel()
	for _, way := range ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			run(t, shared.of(t, way))
		})
	}
}

// EachOwn runs the test once for each way to run the service, on a service that it
// may stop.
func EachOwn(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachOwn(t, Topologies(), serviceBinary, run)
}

// EachOwnThat is EachOwn for the topologies that the filter accepts.
func EachOwnThat(t *testing.T, is func(Topology) bool, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachOwn(t, slices.DeleteFunc(Topologies(), func(way Topology) bool { return !is(way) }), serviceBinary, run)
}

// StartBuild starts a service of another build on an empty SQLite database.
func StartBuild(t *testing.T, binary string) *Service {
	t.Helper()
	s := NewService(t, SQLite)
	s.Binary, s.Commands, s.DatabaseURL = binary, binary, NewDatabase(t, SQLite)
	s.Start()
	return s
}

// IsPostgres reports whether the service uses PostgreSQL, whose database can be shared
// between services and can become unreachable.
func IsPostgres(way Topology) bool { return way.Postgres }

// IsSplit reports whether the backend is a separate process.
func IsSplit(way Topology) bool { return way.Split }

// EachPlain is EachOwn without the race detector, for tests of many rows or of many
// calls at once: with it they would exceed the timeouts of a service, which they
// don't test.
func EachPlain(t *testing.T, run func(t *testing.T, s *Service)) {
	t.Helper()
	eachOwn(t, Topologies(), PlainBinary, run)
}

func eachOwn(t *testing.T, ways []Topology, binary string, run func(t *testing.T, s *Service)) {
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

// NewDatabase returns the address of an empty database, used only by this test.
func NewDatabase(t testing.TB, way Topology) string {
	t.Helper()
	if way.Postgres {
		return NewPostgres(t)
	}
	return filepath.Join(t.TempDir(), "data", "kith.db")
}
