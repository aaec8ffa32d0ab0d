package harness

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// sharedServices are the services that the tests of a package share, one for each
// way to run it. The first test that needs one starts it; Main stops them.
type sharedServices struct {
	mu       sync.Mutex
	services map[string]*Service // by the name of the topology
	lives    []*lifetime
}

var shared = &sharedServices{services: map[string]*Service{}}

// of returns the shared service for a topology.
func (l *sharedServices) of(t *testing.T, way Topology) *Service {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.services[way.Name]
	if s == nil {
		life := &lifetime{}
		l.lives = append(l.lives, life)
		life.run(func() {
			started := NewService(life, way)
			started.Start()
			s = started
		})
		if err := life.failure(); err != nil {
			t.Fatalf("the shared service cannot start: %v", err)
		}
		l.services[way.Name] = s
	}
	mine := *s
	mine.T = t
	return &mine
}

// stop stops the services, and reports failures of the stop and secrets in their logs.
func (l *sharedServices) stop() error {
	var errs []error
	for _, life := range l.lives {
		errs = append(errs, life.end())
	}
	return errors.Join(errs...)
}

// lifetime is the testing.TB of a service that outlives the test that starts it.
type lifetime struct {
	testing.TB // nil: services do not use the methods that are not defined here

	mu       sync.Mutex
	errs     []error
	cleanups []func()
}

// run runs the function until its end or its first call of Fatal.
func (l *lifetime) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// end runs the functions registered with Cleanup, last first.
func (l *lifetime) end() error {
	for _, cleanup := range slices.Backward(l.cleanups) {
		l.run(cleanup)
	}
	return l.failure()
}

func (l *lifetime) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

func (l *lifetime) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

// Helper implements testing.TB.
func (l *lifetime) Helper() {}

// Cleanup implements testing.TB.
func (l *lifetime) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

// Failed implements testing.TB.
func (l *lifetime) Failed() bool { return l.failure() != nil }

// Error implements testing.TB.
func (l *lifetime) Error(args ...any) { l.add(errors.New(fmt.Sprint(args...))) }

// Errorf implements testing.TB.
func (l *lifetime) Errorf(format string, args ...any) { l.add(fmt.Errorf(format, args...)) }

// Logf implements testing.TB.
func (l *lifetime) Logf(format string, args ...any) { l.Errorf(format, args...) }

// Fatal implements testing.TB.
func (l *lifetime) Fatal(args ...any) {
	l.Error(args...)
	runtime.Goexit()
}

// Fatalf implements testing.TB.
func (l *lifetime) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit()
}

// TempDir implements testing.TB.
func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "kith-e2e-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
