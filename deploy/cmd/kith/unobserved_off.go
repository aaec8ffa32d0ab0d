//go:build !unobserved

package main

// observed tells that what happens is counted. The benchmark measures what that
// costs beside a build that does not (-tags unobserved); operators have no use for it.
const observed = true
