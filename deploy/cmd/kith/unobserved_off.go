//go:build !unobserved

package main

// observed is whether metrics are recorded. The benchmark compares this build with one
// that records none (-tags unobserved), which is of no use to operators.
const observed = true
