// Package metrics holds the registry of a process and the collectors that its
// parts report to.
//
// Every label value comes from a closed set that is fixed when the collector is
// built (routes, tools) or by the code itself (methods, status codes, outcomes).
// A value outside its set is counted under one catch-all value, so nothing that
// a caller sends can create a series.
//
// Reporting is cheap: each collector keeps its series at hand and looks no label
// up in Prometheus after the first time. A series appears with its first call.
// Durations are reported in seconds, in classic buckets from 1 ms to 10 s and,
// for servers that read them, as native histograms.
//
// All methods are safe for concurrent use.
package metrics
