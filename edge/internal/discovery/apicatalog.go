package discovery

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// typeLinkset is the media type of RFC 9264, section 4.2, with the profile of RFC
// 9727, section 7.2.
const typeLinkset = `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`

// linksetJSON is a set of links (RFC 9264, section 4.2).
type linksetJSON struct {
	Linkset []contextJSON `json:"linkset"`
}

// contextJSON are the links of one anchor, by their relations (RFC 8631).
type contextJSON struct {
	Anchor      string       `json:"anchor"`
	Item        []targetJSON `json:"item,omitempty"`
	ServiceDesc []targetJSON `json:"service-desc,omitempty"`
	ServiceDoc  []targetJSON `json:"service-doc,omitempty"`
	ServiceMeta []targetJSON `json:"service-meta,omitempty"`
}

type targetJSON struct {
	Href string `json:"href"`
	Type string `json:"type,omitzero"`
}

// newAPICatalog makes the catalogue of the APIs: the HTTP API, whose anchor is the
// service itself, and the MCP servers. The answer to HEAD has the link that RFC 9727,
// section 2, requires.
func (s *site) newAPICatalog() (*httpapi.Document, error) {
	self := s.BaseURL + pathAPICatalog
	index := contextJSON{Anchor: self, Item: []targetJSON{{Href: s.BaseURL + pathHome}}}
	contexts := []contextJSON{{
		Anchor:      s.BaseURL + pathHome,
		ServiceDesc: s.targets("application/json", pathOpenAPI),
		ServiceDoc:  append(s.targets("text/html", pathErrors), s.targets("text/plain", pathLLMs)...),
		ServiceMeta: s.targets("application/json", pathIndex),
	}}
	for _, r := range s.mcpServers() {
		if r.State == route.Deprecated {
			continue
		}
		index.Item = append(index.Item, targetJSON{Href: s.BaseURL + r.Pattern})
		contexts = append(contexts, contextJSON{
			Anchor:      s.BaseURL + r.Pattern,
			ServiceDoc:  append(s.targets("text/html", pathPeopleDocs), s.targets("text/markdown", pathAgentDocs)...),
			ServiceMeta: s.metaOf(r),
		})
	}
	return indentedDocument(typeLinkset, linksetJSON{append([]contextJSON{index}, contexts...)}, http.Header{
		"Link": {"<" + self + `>; rel="api-catalog"`},
	})
}

// metaOf returns the machine-readable descriptions of an MCP server: the metadata of the
// resource and the server card, or the description of the sandbox.
func (s *site) metaOf(r route.Route) []targetJSON {
	if r.SandboxOnly {
		return s.targets("application/json", route.SandboxPrefix)
	}
	return append(s.targets("application/json", route.ResourcePrefix+r.Pattern), s.targets(typeServerCard, route.PathServerCard)...)
}

func (s *site) targets(media, path string) []targetJSON {
	if !s.serves(path) {
		return nil
	}
	return []targetJSON{{Href: s.BaseURL + path, Type: media}}
}
