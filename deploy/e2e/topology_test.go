package e2e

import (
	"path/filepath"
	"slices"
	"testing"
)

// topology is a way to run the service.
type topology struct {
	name     string
	postgres bool
	split    bool // the edge is a process of its own
}

var (
	onSQLite   = topology{name: "sqlite"}
	onPostgres = topology{name: "postgres", postgres: true}
	inTwo      = topology{name: "split", postgres: true, split: true}
)

// topologies are those that a run covers: with -short, only what needs nothing
// but this repository.
func topologies() []topology {
	if testing.Short() {
		return []topology{onSQLite}
	}
	return []topology{onSQLite, onPostgres, inTwo}
}

// eachTopology runs the test once for each way to run the service, in parallel.
func eachTopology(t *testing.T, run func(t *testing.T, s *service)) {
	t.Helper()
	eachTopologyOf(t, serviceBinary, run)
}

// The topologies that some tests are about.
func inPostgres(way topology) bool { return way.postgres } // several services may share it, and it can go away
func isSplit(way topology) bool    { return way.split }    // the backend is a process of its own

// eachTopologyThat is eachTopology of those that the test is about.
func eachTopologyThat(t *testing.T, is func(topology) bool, run func(t *testing.T, s *service)) {
	t.Helper()
	eachWay(t, slices.DeleteFunc(topologies(), func(way topology) bool { return !is(way) }), serviceBinary, run)
}

// eachTopologyOf is eachTopology of one build. Tests of many rows or of many calls at
// once take kithBinary: with the race detector they would meet the limits of time
// that protect a service, and those are not their subject.
func eachTopologyOf(t *testing.T, binary string, run func(t *testing.T, s *service)) {
	t.Helper()
	eachWay(t, topologies(), binary, run)
}

func eachWay(t *testing.T, ways []topology, binary string, run func(t *testing.T, s *service)) {
	t.Helper()
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, way)
			s.binary = binary
			s.start()
			run(t, s)
		})
	}
}

// eachDatabase runs the test once for each database, with its address.
func eachDatabase(t *testing.T, run func(t *testing.T, databaseURL string)) {
	t.Helper()
	t.Parallel()
	for _, way := range topologies() {
		if way.split {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			run(t, newDatabase(t, way))
		})
	}
}

func newDatabase(t *testing.T, way topology) string {
	t.Helper()
	if way.postgres {
		return newPostgres(t)
	}
	return filepath.Join(t.TempDir(), "data", "kith.db")
}
