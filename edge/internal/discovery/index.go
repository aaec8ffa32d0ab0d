package discovery

import (
	"time"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// serviceName is what the service calls itself.
const serviceName = "Kith"

// indexJSON is the agent index. Addresses are absolute, so that a client can use
// them as they are.
type indexJSON struct {
	Object         string            `json:"object"`
	Name           string            `json:"name"`
	Version        string            `json:"version"`
	Documentation  string            `json:"documentation,omitzero"`
	OpenAPI        string            `json:"openapi,omitzero"`
	MCP            mcpJSON           `json:"mcp"`
	Authentication accessJSON        `json:"authentication"`
	RateLimits     []rateLimitJSON   `json:"rate_limits"`
	Batch          *batchJSON        `json:"batch,omitzero"`
	Deprecations   []deprecationJSON `json:"deprecations"`
}

type mcpJSON struct {
	Current          string   `json:"current"`
	Deprecated       []string `json:"deprecated"`
	Sandbox          string   `json:"sandbox,omitzero"`
	ProtocolVersions []string `json:"protocol_versions"`
	ToolsCount       int      `json:"tools_count"`
}

type rateLimitJSON struct {
	Policy string `json:"policy"`
	Quota  int    `json:"q"`
	Window int    `json:"w"` // seconds
}

type batchJSON struct {
	MaxItems  int              `json:"max_items"`
	Batchable []batch.Readable `json:"batchable"`
}

type deprecationJSON struct {
	Path      string  `json:"path"`
	State     string  `json:"state"`
	Successor string  `json:"successor"`
	Sunset    *string `json:"sunset"` // null while no date is set
}

// newIndex makes GET /v1.
func (s *site) newIndex() (*httpapi.Document, error) {
	return indentedDocument("application/json", indexJSON{
		Object: "agent_index", Name: serviceName, Version: s.Version,
		Documentation: s.address(pathAgentDocs), OpenAPI: s.address(pathOpenAPI),
		MCP: s.mcpJSON(), Authentication: s.accessJSON(), RateLimits: s.rateLimitsJSON(),
		Batch: s.batchJSON(), Deprecations: s.deprecationsJSON(),
	}, nil)
}

func (s *site) mcpJSON() mcpJSON {
	m := mcpJSON{Deprecated: []string{}, ProtocolVersions: s.Protocols, ToolsCount: len(s.Catalog.Tools())}
	for _, r := range s.mcpServers() {
		address := s.BaseURL + r.Pattern
		switch {
		case r.State == route.Deprecated:
			m.Deprecated = append(m.Deprecated, address)
		case r.SandboxOnly && m.Sandbox == "":
			m.Sandbox = address
		case !r.SandboxOnly && m.Current == "":
			m.Current = address
		}
	}
	return m
}

func (s *site) rateLimitsJSON() []rateLimitJSON {
	limits := []rateLimitJSON{}
	for _, p := range s.policies() {
		limits = append(limits, rateLimitJSON{Policy: p.Name, Quota: p.Quota, Window: int(p.Window / time.Second)})
	}
	return limits
}

func (s *site) batchJSON() *batchJSON {
	if !s.serves(pathBatch) {
		return nil
	}
	return &batchJSON{MaxItems: batch.MaxItems, Batchable: batch.Allowlist(s.Routes)}
}

func (s *site) deprecationsJSON() []deprecationJSON {
	deprecations := []deprecationJSON{}
	for _, r := range s.Routes {
		if r.State != route.Deprecated {
			continue
		}
		d := deprecationJSON{Path: r.Pattern, State: string(r.State), Successor: r.Successor}
		if !r.Sunset.IsZero() {
			d.Sunset = new(r.Sunset.UTC().Format(time.RFC3339))
		}
		deprecations = append(deprecations, d)
	}
	return deprecations
}
