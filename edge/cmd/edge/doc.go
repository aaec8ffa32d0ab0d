// Command edge runs only the edge, with a backend in another process. It reads KITH_ADDR,
// KITH_BASE_URL, KITH_BACKEND_URL and KITH_SERVICE_TOKEN from the environment; each has the
// default of server.Config. It has no sandbox and no metrics listener; for those, use the
// program of the deploy module.
package main
