package route

import (
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// The names of the rows of the authorization server and the people's pages.
const (
	AuthServerMetadata = "oauth-metadata"
	OAuthRegister      = "oauth-register"
	OAuthAuthorize     = "oauth-authorize"
	OAuthConsent       = "oauth-consent"
	OAuthToken         = "oauth-token"
	OAuthRevoke        = "oauth-revoke"
)

// PathImports is where members upload files. It takes larger bodies than the others.
const PathImports = "/settings/imports"

// OAuthPrefix begins the paths of the authorization server's endpoints, PathRegister
// is where clients register.
const (
	OAuthPrefix  = "/oauth/"
	PathRegister = OAuthPrefix + "register"
)

// authorizationServer are the endpoints of the authorization server, which the
// backend serves.
func authorizationServer() []Route {
	endpoint := Route{Methods: []string{http.MethodPost}, State: Current, Protocol: OAuth, Anonymous: true, Proxied: true}
	metadata, register, authorize, consent, token, revoke := endpoint, endpoint, endpoint, endpoint, endpoint, endpoint
	metadata.Name, metadata.Pattern = AuthServerMetadata, "/.well-known/oauth-authorization-server"
	metadata.Methods = []string{http.MethodGet}
	metadata.Summary = "Authorization server metadata (RFC 8414)."
	register.Name, register.Pattern, register.RatePolicy = OAuthRegister, PathRegister, ratelimit.PolicyOAuthRegister
	register.Summary = "Registers a client (RFC 7591): open, public clients only."
	authorize.Name, authorize.Pattern, authorize.Protocol = OAuthAuthorize, "/oauth/authorize", Page
	authorize.Methods, authorize.RatePolicy = []string{http.MethodGet}, ratelimit.PolicyOAuthAuthorize
	authorize.Summary = "Asks the signed-in member for consent and answers with an authorization code."
	consent.Name, consent.Pattern, consent.Protocol = OAuthConsent, "/oauth/consent", Page
	consent.Summary = "Takes the member's answer to the consent page."
	consent.Anonymous, consent.RatePolicy = false, ratelimit.PolicyOAuthAuthorize
	token.Name, token.Pattern, token.RatePolicy = OAuthToken, "/oauth/token", ratelimit.PolicyOAuthToken
	token.Summary = "Exchanges an authorization code or a refresh token for tokens."
	revoke.Name, revoke.Pattern, revoke.RatePolicy = OAuthRevoke, "/oauth/revoke", ratelimit.PolicyOAuthToken
	revoke.Summary = "Revokes an access or refresh token and its pair (RFC 7009)."
	return []Route{metadata, register, authorize, consent, token, revoke}
}

// pages are what people meet in a browser; the backend serves them.
func pages() []Route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	both := []string{http.MethodGet, http.MethodPost}
	rows := []Route{
		{Name: "sign-up", Methods: both, Pattern: "/sign-up", Anonymous: true, Summary: "Makes an account."},
		{Name: "sign-in", Methods: both, Pattern: "/sign-in", Anonymous: true, Summary: "Signs a member in."},
		{Name: "sign-in-provider", Methods: post, Pattern: "/sign-in/provider", Anonymous: true, Summary: "Goes to the operator's identity provider."},
		{Name: "sign-in-provider-callback", Methods: get, Pattern: "/sign-in/provider/callback", Anonymous: true, Summary: "Takes the identity provider's answer."},
		{Name: "sign-in-provider-link", Methods: both, Pattern: "/sign-in/provider/link", Anonymous: true, Summary: "Links an identity to a member who knows the password."},
		{Name: "sign-out", Methods: post, Pattern: "/sign-out", Summary: "Signs the member out."},
		{Name: "forgot", Methods: both, Pattern: "/forgot", Anonymous: true, Summary: "Sends a link that sets a new password."},
		{Name: "reset", Methods: both, Pattern: "/reset", Anonymous: true, Summary: "Sets a new password by a link that was sent."},
		{Name: "verify", Methods: both, Pattern: "/verify", Anonymous: true, Summary: "Confirms an e-mail address by a link that was sent."},
		{Name: "stylesheet", Methods: get, Pattern: "/assets/kith.css", Anonymous: true, Summary: "The stylesheet of the pages."},
		{Name: "icon", Methods: get, Pattern: "/assets/kith.svg", Anonymous: true, Summary: "The icon of the pages."},
		{Name: "imports-script", Methods: get, Pattern: "/assets/imports.js", Anonymous: true, Summary: "The script of the page about imports."},
		{Name: "settings", Methods: get, Pattern: "/settings", Summary: "The member's settings."},
		{Name: "settings-profile", Methods: both, Pattern: "/settings/profile", Summary: "The public profile, with who sees what."},
		{Name: "settings-mcp", Methods: get, Pattern: "/settings/mcp", Summary: "Connected agents, personal tokens and credits."},
		{Name: "settings-tokens", Methods: post, Pattern: "/settings/mcp/tokens", Summary: "Creates a personal token."},
		{Name: "settings-tokens-revoke", Methods: post, Pattern: "/settings/mcp/tokens/revoke", Summary: "Revokes a personal token."},
		{Name: "settings-agents-revoke", Methods: post, Pattern: "/settings/mcp/agents/revoke", Summary: "Revokes an agent's access."},
		{Name: "settings-activity", Methods: get, Pattern: "/settings/activity", Summary: "Every change in the member's data."},
		{Name: "settings-activity-undo", Methods: both, Pattern: "/settings/activity/undo", Summary: "Shows what undoing a change would do, and undoes it."},
		{Name: "settings-bin", Methods: get, Pattern: "/settings/bin", Summary: "People who were deleted in the last 30 days."},
		{Name: "settings-bin-restore", Methods: post, Pattern: "/settings/bin/restore", Summary: "Restores a deleted person."},
		{Name: "settings-bin-delete", Methods: both, Pattern: "/settings/bin/delete", Summary: "Asks before people in the bin are deleted for good, and does it."},
		{Name: "settings-search", Methods: both, Pattern: "/settings/search", Summary: "Whether texts may be sent to a remote embedding provider."},
		{Name: "settings-imports", Methods: both, Pattern: PathImports, Summary: "Imports of files, with what came of them."},
		{Name: "settings-imports-start", Methods: post, Pattern: PathImports + "/start", Summary: "Imports a file that was uploaded."},
		{Name: "settings-imports-cancel", Methods: post, Pattern: PathImports + "/cancel", Summary: "Cancels an import."},
		{Name: "settings-imports-undo", Methods: post, Pattern: PathImports + "/undo", Summary: "Takes an import back."},
		{Name: "settings-security", Methods: get, Pattern: "/settings/security", Summary: "Password, e-mail address and sessions."},
		{Name: "settings-password", Methods: post, Pattern: "/settings/security/password", Summary: "Changes the password."},
		{Name: "settings-verify", Methods: post, Pattern: "/settings/security/verify", Summary: "Sends a link that confirms the e-mail address."},
		{Name: "settings-sign-out", Methods: post, Pattern: "/settings/security/sign-out", Summary: "Signs every browser out."},
		{Name: "settings-provider-unlink", Methods: post, Pattern: "/settings/security/provider/unlink", Summary: "Unlinks an identity provider."},
		{Name: "settings-account", Methods: get, Pattern: "/settings/account", Summary: "Export and deletion of the account."},
		{Name: "settings-export", Methods: get, Pattern: "/settings/account/export", Summary: "Everything that the member keeps, as a ZIP."},
		{Name: "settings-delete", Methods: post, Pattern: "/settings/account/delete", Summary: "Deletes the account."},
	}
	for i := range rows {
		rows[i].State, rows[i].Protocol, rows[i].Proxied = Current, Page, true
		if strings.HasPrefix(rows[i].Pattern+"/", settingsPrefix) {
			rows[i].RatePolicy = ratelimit.PolicySettings
		}
	}
	return rows
}
