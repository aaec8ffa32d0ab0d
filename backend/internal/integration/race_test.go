//go:build race

package integration_test

import (
	"flag"
	"testing"
)

// Under the race detector, which is ten times slower, property tests draw fewer
// examples: they look for wrong answers, not for races.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	m.Run()
}
