// Package exchange carries what is known of one HTTP request while it is
// served: its id, the route that matched, and what the log line shall say.
//
// The outermost handler makes one Exchange for each request and logs it once at
// the end; everything below fills it in. It owns no header, no log and no metric.
package exchange
