// Package problem writes the service's HTTP errors as RFC 9457 problem details.
//
// It owns the one table of error codes. MCP and OAuth endpoints have error
// bodies of their own and take only the status of a code from here.
package problem
