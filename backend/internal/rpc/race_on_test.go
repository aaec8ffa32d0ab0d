//go:build race

package rpc_test

const raceDetector = true
