package mcp_test

import "flag"

// With the flag -update, the tests rewrite the golden files: go test ./internal/mcp -update.
var update = flag.Bool("update", false, "rewrite the golden files")
