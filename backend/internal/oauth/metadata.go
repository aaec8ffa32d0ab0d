package oauth

import (
	"net/http"
)

// document is authorization server metadata (RFC 8414 §2).
type document struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	ResponseIss           bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	Documentation         string   `json:"service_documentation"`
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	writeJSON(w, http.StatusOK, document{
		Issuer: s.Issuer, AuthorizationEndpoint: s.Issuer + PathAuthorize, TokenEndpoint: s.Issuer + PathToken,
		RegistrationEndpoint: s.Issuer + PathRegister, RevocationEndpoint: s.Issuer + PathRevoke,
		ScopesSupported: s.Catalog.Scopes(), ResponseTypes: responseTypes(), ResponseModes: []string{"query"},
		GrantTypes: grantTypes(), TokenAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"},
		ChallengeMethods: []string{"S256"}, ResponseIss: true, ClientDocuments: s.documents != nil, Documentation: s.Issuer + "/mcp/docs",
	})
}
