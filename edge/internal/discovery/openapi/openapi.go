package openapi

import (
	"errors"
	"fmt"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Options are what the document is made of. All but Policies and DemoUsername are
// required.
type Options struct {
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Version of the service.
	Version string
	// Rows are the rows that the server serves, as route.Mounted returns them.
	Rows []route.Route
	// Catalog has the tools and the scopes.
	Catalog *catalog.Catalog
	// Protocols are the versions of MCP that are spoken, the default first, as
	// mcp.Versions returns them.
	Protocols []string
	// Policies are the rate policies in force. One with a quota of 0 is off, and
	// nothing is said of it.
	Policies []ratelimit.Policy
	// DemoUsername is the member of the examples; "" without a sandbox.
	DemoUsername string
}

func (o Options) check() error {
	if o.BaseURL == "" || o.Version == "" || len(o.Rows) == 0 || o.Catalog == nil || len(o.Protocols) == 0 {
		return errors.New("base URL, version, rows, catalogue and protocol versions are required")
	}
	return nil
}

// New returns the document as JSON. It fails if a required option is missing or a
// route is not described.
func New(o Options) ([]byte, error) {
	body, err := build(o)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI document: %w", err)
	}
	return body, nil
}

func build(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	root, err := load(newFacts(o))
	if err != nil {
		return nil, err
	}
	if err := fillProblems(root, o.BaseURL); err != nil {
		return nil, err
	}
	if err := applyRows(root, o); err != nil {
		return nil, err
	}
	dropUnused(root)
	return encode(root)
}
