package discovery

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/proto/catalog"
)

// Media types of the documents that let MCP clients find the server (SEP-2127, an MCP
// extension that is still experimental).
const (
	typeServerCard = "application/mcp-server-card+json"
	typeAICatalog  = "application/ai-catalog+json"
)

// cardJSON is an MCP server card (SEP-2127, schema v1).
type cardJSON struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"` // reverse DNS, one slash
	Version     string            `json:"version"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	WebsiteURL  string            `json:"websiteUrl,omitzero"`
	Icons       []iconJSON        `json:"icons,omitempty"`
	Remotes     []remoteJSON      `json:"remotes"`
	Meta        map[string]string `json:"_meta"`
}

type iconJSON struct {
	Source string   `json:"src"`
	Type   string   `json:"mimeType"`
	Sizes  []string `json:"sizes"`
}

type remoteJSON struct {
	Type     string   `json:"type"`
	URL      string   `json:"url"`
	Versions []string `json:"supportedProtocolVersions"`
}

// newServerCard makes the card of the MCP server at a path.
func (s *site) newServerCard(path string) (*httpapi.Document, error) {
	host, err := s.host()
	if err != nil {
		return nil, err
	}
	card := cardJSON{
		Schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
		Name:   reverseDNS(host) + "/kith", Version: s.Version, Title: serviceName, Description: catalog.Tagline, WebsiteURL: s.address(pathPeopleDocs),
		Remotes: []remoteJSON{{"streamable-http", s.BaseURL + path, s.Protocols}},
		Meta:    map[string]string{"kith/experimental": "Server cards are an experimental extension of MCP (SEP-2127). This document may change with it."},
	}
	if icon := s.address(pathIcon); icon != "" {
		card.Icons = []iconJSON{{icon, "image/svg+xml", []string{"any"}}}
	}
	return indentedDocument(typeServerCard, card, nil)
}

// aiCatalogJSON is an AI catalogue, from which clients that know only the domain learn
// where the card is.
type aiCatalogJSON struct {
	Version string        `json:"specVersion"`
	Entries []aiEntryJSON `json:"entries"`
}

type aiEntryJSON struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type"`
	URL        string `json:"url"`
}

// newAICatalog makes the catalogue, whose only entry is the server card, where it is served.
func (s *site) newAICatalog() (*httpapi.Document, error) {
	host, err := s.host()
	if err != nil {
		return nil, err
	}
	entries := []aiEntryJSON{}
	if card := s.address(route.PathServerCard); card != "" {
		entries = append(entries, aiEntryJSON{"urn:air:" + host + ":mcp:kith", typeServerCard, card})
	}
	return indentedDocument(typeAICatalog, aiCatalogJSON{"1.0", entries}, nil)
}

// indentedDocument returns a value as a JSON document with line breaks. header may be nil.
func indentedDocument(media string, value any, header http.Header) (*httpapi.Document, error) {
	body, err := json.Marshal(value, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", media, err)
	}
	return httpapi.NewDocument(media, append(body, '\n'), header), nil
}

// host returns the host of the service without its port, with "-" for the colons of IPv6.
func (s *site) host() (string, error) {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return "", fmt.Errorf("parse base URL: %w", err)
	}
	return strings.ReplaceAll(u.Hostname(), ":", "-"), nil
}

// reverseDNS returns a host with its labels in reverse order; an address stays as it is.
func reverseDNS(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}
