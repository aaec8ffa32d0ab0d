package discovery

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/bearer"
)

// oauthPages returns the errors of the authorization server.
func oauthPages() []errorPage {
	pages := append(flowErrors(), metadataErrors()...)
	for i := range pages {
		if pages[i].Status == "" {
			pages[i].Status = statusWords(http.StatusBadRequest)
		}
		if pages[i].Example != "" {
			continue
		}
		pages[i].Example = "{\n  \"error\": \"" + pages[i].Code + "\",\n  \"error_description\": \"" + pages[i].Title + ".\"\n}"
	}
	return pages
}

// flowErrors are those of the way to a token (RFC 6749, sections 4.1.2.1 and 5.2).
func flowErrors() []errorPage {
	return []errorPage{
		{
			Code: "invalid_request", Title: "The request is incomplete or not valid",
			Meaning: "A parameter is missing, given twice or not valid. At `" + pathAuthorize + "` that includes a `code_challenge_method` other than `S256`.",
			Action:  "Read `error_description`, and correct the request.",
		},
		{
			Code: "invalid_client", Title: "The client is not known",
			Meaning: "There is no client with this `client_id`. Registrations are not shared between environments, and unused ones are swept.",
			Action:  "Register again by `POST " + pathRegister + "`, and start over.",
		},
		{
			Code: "invalid_grant", Title: "The code or the refresh token is not valid",
			Meaning: "A code is used, older than 60 seconds, of another client or redirect URI, or its `code_verifier` does not match. A refresh token is " +
				"spent, revoked or expired; one that is used twice ends the whole grant.",
			Action: "Start the flow again at `" + pathAuthorize + "`. Keep only the newest refresh token, and refresh from one place at a time.",
		},
		{
			Code: "unauthorized_client", Title: "The client may not do this", //nolint:misspell // as RFC 6749 spells it
			Meaning: "The client was not registered for this grant or response type.",
			Action:  "Register with the grant types that you use.",
		},
		{
			Code: "unsupported_grant_type", Title: "There is no such grant type",
			Meaning: "The token endpoint takes `authorization_code` and `refresh_token`. There are no client credentials: all data belongs to a person.",
			Action:  "Use the authorization code flow with PKCE.",
		},
		{
			Code: "unsupported_response_type", Title: "There is no such response type", Status: "a redirect",
			Meaning: "`response_type` is not `code`. The implicit flow is refused.",
			Action:  "Use `response_type=code` with a `code_challenge` by S256.",
			Example: "Location: https://client.example/callback?error=unsupported_response_type&state=…",
		},
	}
}

// metadataErrors are about what was asked for or sent along (RFC 6749, section
// 4.1.2.1; RFC 6750, section 3.1; RFC 7591, section 3.2.2; RFC 8707, section 2).
func metadataErrors() []errorPage {
	return []errorPage{
		{
			Code: "invalid_scope", Title: "A scope does not exist",
			Meaning: "A scope that was asked for is none of those in `scopes_supported`. Nothing is dropped in silence.",
			Action:  "Take scopes from [the metadata](" + pathMetadata + "), or leave `scope` out to ask for all.",
		},
		{
			Code: "invalid_target", Title: "The resource is not one of this service",
			Meaning: "`resource` names something else than an MCP server of this service (RFC 8707).",
			Action:  "Take `resource` from the metadata of the protected resource.",
		},
		{
			Code: "access_denied", Title: "The person said no", Status: "a redirect",
			Meaning: "The person did not approve the client.",
			Action:  "Respect it. Ask again only when the person wants to.",
			Example: "Location: https://client.example/callback?error=access_denied&state=…",
		},
		{
			Code: "invalid_redirect_uri", Title: "A redirect URI is not allowed",
			Meaning: "Redirect URIs are https, or http on localhost, without a fragment and without credentials. Their hosts are spelt in ASCII, without " +
				"percent-encoding: internationalised names in their `xn--` form.",
			Action: "Register with one that is.",
		},
		{
			Code: "invalid_client_metadata", Title: "The registration is not valid",
			Meaning: "A field of the registration cannot be accepted, such as a `client_name` with invisible characters.",
			Action:  "Read `error_description`, and correct the field.",
		},
		{
			Code: "invalid_token", Title: "The access token is dead", Status: statusWords(http.StatusUnauthorized) + ", in WWW-Authenticate",
			Meaning: "The bearer token is expired, revoked or malformed.",
			Action:  "Refresh it and try once more. If that fails too, start the flow again.",
			Example: "WWW-Authenticate: " + bearer.Challenge("…") + bearer.InvalidToken,
		},
		{
			Code: "server_error", Title: "The authorization server failed",
			Status:  statusWords(http.StatusInternalServerError) + ", " + statusWords(http.StatusServiceUnavailable) + " or a redirect",
			Meaning: "Something failed on our side. Codes and tokens are as good as before.",
			Action:  "Try again in a moment. Keep your credentials.",
		},
	}
}
