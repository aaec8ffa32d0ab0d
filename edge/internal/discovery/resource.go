package discovery

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// resourceJSON is the metadata of RFC 9728, section 2.
type resourceJSON struct {
	Resource               string   `json:"resource"`
	AuthorizationServers   []string `json:"authorization_servers"`
	ScopesSupported        []string `json:"scopes_supported"`
	BearerMethodsSupported []string `json:"bearer_methods_supported"`
	ResourceName           string   `json:"resource_name"`
	ResourceDocumentation  string   `json:"resource_documentation"`
}

// ProtectedResource returns the handler of the metadata of the resource at path.
// baseURL has no slash at the end; scopes are the scopes that a token can have.
func ProtectedResource(baseURL, path string, scopes []string) (route.Handler, error) {
	body, err := json.Marshal(resourceJSON{
		Resource:               baseURL + path,
		AuthorizationServers:   []string{baseURL},
		ScopesSupported:        scopes,
		BearerMethodsSupported: []string{"header"},
		ResourceName:           "Kith",
		ResourceDocumentation:  baseURL + "/mcp/docs",
	})
	if err != nil {
		return nil, fmt.Errorf("marshal resource metadata: %w", err)
	}
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		httpapi.WriteJSON(w, r, http.StatusOK, body)
	}, nil
}
