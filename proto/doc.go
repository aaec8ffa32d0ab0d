// Package proto is the root of Kith's contract: the .proto files below kith/,
// the Go code generated from them below gen/, and the tool catalogue in
// catalog/. It imports nothing else of Kith.
package proto
