// Package jobsapi serves jobs over plain HTTP, for callers who do not speak MCP:
// POST /api/jobs starts one, GET /api/jobs/{task_id} tells how far it is.
//
// Both are tools under another address, so that scopes, prices and refusals are
// those of the tools: starting a kind calls the tool that starts it, without
// arguments, and reading a job calls get_job. Which tool starts which kind is in
// the catalogue.
package jobsapi
