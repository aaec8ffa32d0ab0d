// Command openapi assembles openapi.json and writes it to the file that is its only
// argument. `make gen` runs it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/server"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: openapi FILE")
	}
	tools, err := catalog.Load()
	if err != nil {
		return err
	}
	document, err := openapi.Assemble(tools, mcp.Versions(), server.Routes())
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], document, 0o644)
}
