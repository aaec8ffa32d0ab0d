//go:build race

package source_test

// largeSize is how large the files are whose memory is measured: small, where the
// race detector makes everything slow.
const largeSize = 2 << 20
