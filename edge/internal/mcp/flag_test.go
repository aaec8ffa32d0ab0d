package mcp_test

import "flag"

// update says to rewrite the golden files: go test ./internal/mcp -update.
var update = flag.Bool("update", false, "rewrite the golden files")
