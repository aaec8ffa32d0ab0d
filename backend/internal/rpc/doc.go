// Package rpc serves the RPCs: it has the Connect handlers, and the middleware that
// authenticates, authorises, validates and logs each call.
//
//	service credential → bearer → scope → decode → validate → transaction → handler
//
// The first three happen before the body is read. The catalogue says who may call what; a
// procedure that is not in it cannot be called. Domain errors become Connect errors only
// here; the cause is logged and not sent.
package rpc
