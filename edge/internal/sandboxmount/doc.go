// Package sandboxmount describes the sandbox at GET /sandbox: whether the demo
// account is there, which paths answer for it, how often they may be called, and
// requests to try, each with a curl line that works as printed.
//
// What is mounted under /sandbox is decided by the route table. The demo account
// itself belongs to the backend, and the requests to the sandbox module.
package sandboxmount
