// Package rpc is the border between the wire and the domain: the Connect
// handlers and what surrounds each call.
//
//	service credential → bearer → scope → decode → validate → transaction → handler
//
// The first three happen before the body is read. Who may call what comes from
// the catalogue; a procedure that is not in it cannot be called. Domain errors
// become Connect errors here and nowhere else; the cause stays in the log.
package rpc
