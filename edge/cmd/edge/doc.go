// Command edge runs the public side of Kith on its own, in front of a backend in
// another process. It reads KITH_ADDR, KITH_BASE_URL, KITH_BACKEND_URL and
// KITH_SERVICE_TOKEN from the environment; each has the default of server.Config.
// The sandbox and the metrics listener come with the program that holds both
// halves; see the deploy module.
package main
