// Package upstream is the one package that calls the backend.
//
// Tool calls go raw: the JSON bytes of the arguments are the body of a Connect
// JSON call and the answer's bytes come back untouched, so that the edge never
// decodes what a tool takes or gives. The other reads use the generated clients
// with binary protobuf.
//
// Each call carries the service credential and the request id, ends within a
// deadline, and reads no more than 8 MiB. Each failure is an *Error, whose Kind
// says what the caller may tell the world. The backend decides who calls and
// what they may do; nothing is cached or retried here.
package upstream
