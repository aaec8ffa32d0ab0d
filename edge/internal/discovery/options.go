package discovery

import (
	"errors"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandboxmount"
)

// Options are what the documents are made of.
type Options struct {
	// BaseURL is the public address, without a slash at the end. Required.
	BaseURL string
	// Version of the service. Required.
	Version string
	// Routes are the rows that are live, as route.Mounted and route.LiveAt return
	// them. What they do not serve is not spoken of. Required.
	Routes []route.Route
	// Catalog has the tools. Required.
	Catalog *catalog.Catalog
	// Protocols are the versions of MCP that are spoken, the default first, as
	// mcp.Versions returns them. Required.
	Protocols []string
	// Problems writes 404 and 406. Required.
	Problems *problem.Writer
	// Policies are the rate policies in force. One with a quota of 0 is off.
	Policies []ratelimit.Policy
	// Requests are the ready-made requests of GET /sandbox. They give the examples
	// of tools their arguments, and the landing page what there is to try. Without
	// any, examples are made up from the schemas alone.
	Requests []sandboxmount.Request
	// DemoUsername is the username of the demo account; "" without a sandbox.
	DemoUsername string
}

func (o Options) check() error {
	if o.BaseURL == "" || o.Version == "" || o.Catalog == nil || o.Problems == nil {
		return errors.New("build documents: base URL, version, catalogue and problem writer are required")
	}
	if len(o.Routes) == 0 || len(o.Protocols) == 0 {
		return errors.New("build documents: routes and protocol versions are required")
	}
	return nil
}
