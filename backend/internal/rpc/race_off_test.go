//go:build !race

package rpc_test

const (
	raceDetector = false
	// How many examples property tests draw; with -short rapid takes a fifth of them, which
	// is enough for each tool to have its turn.
	examples = "300"
)
