package discovery

import (
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/proto/catalog"
)

// Clients returns how to connect the most popular clients.
func (s *site) Clients() []catalog.Client { return catalog.Clients(s.BaseURL + route.PathMCPMember) }

// Recipes returns the recipes, which are also the prompts of the MCP server.
func (s *site) Recipes() []catalog.Recipe { return catalog.Recipes() }
