// Package metrics holds the registry of a process and its collectors.
//
// Every label has a closed set of values, which is fixed when the collector is built
// (routes, tools) or in the code (methods, status codes, outcomes). A value outside its
// set counts under one catch-all value, so no caller can create a series.
//
// Durations are in seconds, in classic buckets from 1 ms to 10 s and, for servers that
// read them, as native histograms.
//
// All methods are safe for concurrent use.
package metrics
