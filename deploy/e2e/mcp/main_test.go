// Package mcp tests the MCP server: the protocol, its transport, and the official clients and conformance suite.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestName
package mcp

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
