//go:build race

package rpc_test

const (
	raceDetector = true
	// How many examples property tests draw: they look for wrong answers, not for races.
	examples = "20"
)
