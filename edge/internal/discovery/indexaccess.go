package discovery

import "github.com/kith-crm/kith/edge/internal/route"

// accessJSON describes how callers authenticate.
type accessJSON struct {
	Header             string       `json:"header"`
	InQueryString      bool         `json:"in_query_string"` // never
	ScopesSupported    []string     `json:"scopes_supported"`
	Methods            []methodJSON `json:"methods"`
	ProtectedResource  string       `json:"protected_resource_metadata,omitzero"`
	WhoseAccessIsThis  string       `json:"identity_endpoint,omitzero"`
	WithoutACredential []string     `json:"without_credential"`
}

// methodJSON is one way to get a credential, or to call without one.
type methodJSON struct {
	Type string `json:"type"`
	Use  string `json:"use"`
	// Only for "none".
	Sandbox string `json:"sandbox,omitzero"`
	// Only for "oauth2".
	AuthorizationServer   string `json:"authorization_server,omitzero"`
	Metadata              string `json:"metadata,omitzero"`
	RegistrationEndpoint  string `json:"registration_endpoint,omitzero"`
	AuthorizationEndpoint string `json:"authorization_endpoint,omitzero"`
	TokenEndpoint         string `json:"token_endpoint,omitzero"`
	RevocationEndpoint    string `json:"revocation_endpoint,omitzero"`
	Grant                 string `json:"grant,omitzero"`
	ChallengeMethod       string `json:"code_challenge_method,omitzero"`
	// Only for "personal_token".
	CreatedAt string `json:"created_at,omitzero"`
}

func (s *site) accessJSON() accessJSON {
	access := accessJSON{
		Header: "Authorization: Bearer <token>", ScopesSupported: s.Catalog.Scopes(), Methods: []methodJSON{},
		ProtectedResource: s.address(route.ResourcePrefix + route.PathMCPCurrent), WhoseAccessIsThis: s.address(pathIdentity),
		WithoutACredential: []string{},
	}
	for _, r := range s.Routes {
		if r.Anonymous && (r.Batchable || r.Pattern == pathBatch) && !r.SandboxOnly {
			access.WithoutACredential = append(access.WithoutACredential, r.Methods[0]+" "+r.Pattern)
		}
	}
	if s.serves(route.SandboxPrefix) {
		access.Methods = append(access.Methods, methodJSON{
			Type: "none", Use: "A demo account to try every reading tool on. GET this address for requests that work as printed.",
			Sandbox: s.address(route.SandboxPrefix),
		})
	}
	if s.OAuth() {
		access.Methods = append(access.Methods, methodJSON{
			Type: "oauth2", Use: "An agent that works for a person, who signs in and approves it.",
			AuthorizationServer: s.BaseURL, Metadata: s.address(pathMetadata), RegistrationEndpoint: s.address(pathRegister),
			AuthorizationEndpoint: s.address(pathAuthorize), TokenEndpoint: s.address(pathToken),
			RevocationEndpoint: s.address(pathRevoke), Grant: "authorization_code", ChallengeMethod: "S256",
		})
	}
	access.Methods = append(access.Methods, methodJSON{
		Type: "personal_token", Use: "A script or a command line that a person runs with a token of their own.",
		CreatedAt: s.address(pathSettings),
	})
	return access
}
