package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

const (
	// pathImport is where members upload files. It takes larger bodies than the others.
	pathImport = "/import"
	// pathPhotoUpload is where they upload the photo of a person.
	pathPhotoUpload = "/people/{id}/photo-upload"
	// pathShare takes what other apps share, which may be a file.
	pathShare    = "/people/share"
	pathRegister = "/oauth/register"
)

// Routes returns the routes that the backend serves: the authorization server's endpoints, address books
// and the pages for people.
func (p *Proxy) Routes() []route.Route {
	return slices.Concat(p.authorizationServer(), p.addressBooks(), p.pages())
}

func (p *Proxy) authorizationServer() []route.Route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	routes := []route.Route{
		{Name: "oauth-metadata", Methods: get, Pattern: "/.well-known/oauth-authorization-server", Anonymous: true, Summary: "Authorization server metadata (RFC 8414)."},
		{
			Name: "oauth-register", Methods: post, Pattern: pathRegister, Anonymous: true, RatePolicy: ratelimit.PolicyOAuthRegister,
			Handle: p.serve(route.OAuth, maxOAuth, checkRegistration), Summary: "Registers a client (RFC 7591): open, public clients only.",
		},
		{
			Name: "oauth-authorize", Methods: get, Pattern: "/oauth/authorize", Anonymous: true, Protocol: route.Page, RatePolicy: ratelimit.PolicyOAuthAuthorize,
			Handle: p.serve(route.Page, maxPage, nil), Summary: "Asks the signed-in member for consent and answers with an authorization code.",
		},
		{
			Name: "oauth-consent", Methods: []string{http.MethodGet, http.MethodPost}, Pattern: "/oauth/consent", Protocol: route.Page, RatePolicy: ratelimit.PolicyOAuthAuthorize,
			Handle: p.serve(route.Page, maxOAuth, nil), Summary: "Receives the member's answer to the consent page.",
		},
		{
			Name: "oauth-token", Methods: post, Pattern: "/oauth/token", Anonymous: true, RatePolicy: ratelimit.PolicyOAuthToken,
			Summary: "Exchanges an authorization code or a refresh token for tokens.",
		},
		{
			Name: "oauth-revoke", Methods: post, Pattern: "/oauth/revoke", Anonymous: true, RatePolicy: ratelimit.PolicyOAuthToken,
			Summary: "Revokes an access or refresh token and its pair (RFC 7009).",
		},
	}
	for i := range routes {
		r := &routes[i]
		r.State, r.Proxied = route.Current, true
		if r.Protocol == "" {
			r.Protocol = route.OAuth
		}
		if r.Handle == nil {
			r.Handle = p.serve(route.OAuth, maxOAuth, nil)
		}
	}
	return routes
}

// addressBooks are what phones and computers synchronise contacts and calendars with, and the calendars that they subscribe to.
func (p *Proxy) addressBooks() []route.Route {
	methods := []string{http.MethodGet, http.MethodPut, http.MethodDelete, "PROPFIND", "PROPPATCH", "REPORT"}
	routes := []route.Route{
		{Name: "dav", Methods: methods, Pattern: "/dav", Summary: "CardDAV: the member's people as an address book, with the app password of a device. CalDAV: their calendar feeds, which only read."},
		{Name: "carddav", Methods: methods, Pattern: "/.well-known/carddav", Anonymous: true, Summary: "Redirects to the address book (RFC 6764)."},
		{Name: "caldav", Methods: methods, Pattern: "/.well-known/caldav", Anonymous: true, Summary: "Redirects to the calendars (RFC 6764)."},
		{Name: "nextcloud-dav", Methods: methods, Pattern: "/remote.php/dav", Anonymous: true, Summary: "Redirects programs that look for a Nextcloud to the address book."},
		{
			Name: "device-login", Methods: []string{http.MethodPost}, Pattern: "/index.php/login/v2", Anonymous: true, RatePolicy: ratelimit.PolicyForms,
			Summary: "Lets a program ask a member to make it a device, and gives it an app password once they have (Nextcloud's login flow, version 2).",
		},
	}
	for i := range routes {
		r := &routes[i]
		r.State, r.Protocol, r.Proxied, r.DAVOnly, r.Handle = route.Current, route.DAV, true, true, p.serve(route.DAV, maxDAV, nil)
		r.RatePolicy = cmp.Or(r.RatePolicy, ratelimit.PolicyDAV)
	}
	return append(routes, route.Route{
		Name: "calendar-feed", Methods: []string{http.MethodGet}, Pattern: "/calendar/{secret}.ics", State: route.Current, Protocol: route.HTTP, Anonymous: true,
		Proxied: true, DAVOnly: true, RatePolicy: ratelimit.PolicyCalendar, Handle: p.serve(route.HTTP, maxPage, nil),
		Summary: "A calendar of a member's birthdays, other dates, reminders and days to get in touch (RFC 5545), to which calendar programs subscribe. The address is the secret.",
	})
}

// pages are what people open in a browser.
func (p *Proxy) pages() []route.Route {
	routes := slices.Concat(accessPages(), areaPages(), settingsPages())
	for i := range routes {
		r := &routes[i]
		r.State, r.Protocol, r.Proxied, r.Handle = route.Current, route.Page, true, p.serve(route.Page, maxPage, nil)
		if r.RatePolicy == "" && route.NeedsMember(r.Pattern+"/") {
			r.RatePolicy = ratelimit.PolicySettings
		}
		if r.RatePolicy == "" && slices.Contains(r.Methods, http.MethodPost) {
			r.RatePolicy = ratelimit.PolicyForms
		}
		if slices.Contains([]string{pathImport, pathPhotoUpload, pathShare}, r.Pattern) {
			r.Handle = p.serveUpload
		}
	}
	ofDemo := demo(routes)
	for i := range routes {
		if !slices.Contains(routes[i].Methods, http.MethodGet) {
			routes[i].FormOnly, routes[i].Methods = true, []string{http.MethodGet, http.MethodPost}
		}
	}
	return append(routes, ofDemo...)
}

// accessPages are the pages for people who are not signed in, and the files that all pages load.
func accessPages() []route.Route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	both := []string{http.MethodGet, http.MethodPost}
	return []route.Route{
		{Name: "sign-up", Methods: both, Pattern: "/sign-up", Anonymous: true, Summary: "Creates an account."},
		{Name: "owner", Methods: both, Pattern: "/owner", Anonymous: true, Summary: "Creates the first member, with a link that the server printed."},
		{Name: "styleguide", Methods: get, Pattern: "/styleguide", RatePolicy: ratelimit.PolicySettings, Summary: "The parts of the pages in every state, on a server at a loopback address, for those who build them."},
		{Name: "offline", Methods: get, Pattern: "/offline", Anonymous: true, Summary: "What the installed app shows without a network."},
		{Name: "sign-in", Methods: both, Pattern: "/sign-in", Anonymous: true, Summary: "Signs a member in."},
		{Name: "sign-in-two-step", Methods: both, Pattern: "/sign-in/two-step", Anonymous: true, Summary: "Asks for the second factor of a sign-in."},
		{Name: "sign-in-two-step-options", Methods: post, Pattern: "/sign-in/two-step/options", Anonymous: true, Summary: "Returns the WebAuthn options for a passkey as the second factor."},
		{Name: "sign-in-passkey", Methods: post, Pattern: "/sign-in/passkey", Anonymous: true, Summary: "Signs a member in with a passkey alone."},
		{Name: "sign-in-passkey-options", Methods: post, Pattern: "/sign-in/passkey/options", Anonymous: true, Summary: "Returns the WebAuthn options for signing in with a passkey alone."},
		{Name: "sign-in-confirm-options", Methods: post, Pattern: "/sign-in/confirm/options", Summary: "Returns the WebAuthn options for confirming a signed-in member with a passkey."},
		{Name: "sign-in-confirm", Methods: both, Pattern: "/sign-in/confirm", Summary: "Asks a signed-in member to confirm that it is them."},
		{Name: "sign-in-provider", Methods: post, Pattern: "/sign-in/provider", Anonymous: true, Summary: "Redirects to the operator's identity provider."},
		{Name: "sign-in-provider-callback", Methods: get, Pattern: "/sign-in/provider/callback", Anonymous: true, Summary: "Receives the identity provider's answer."},
		{Name: "sign-in-provider-link", Methods: both, Pattern: "/sign-in/provider/link", Anonymous: true, Summary: "Links an identity to a member who knows the password."},
		{Name: "sign-out", Methods: post, Pattern: "/sign-out", Summary: "Signs the member out."},
		{Name: "forgot", Methods: both, Pattern: "/forgot", Anonymous: true, Summary: "Mails a link that sets a new password."},
		{Name: "reset", Methods: both, Pattern: "/reset", Anonymous: true, Summary: "Sets a new password, with a link that was mailed."},
		{Name: "verify", Methods: both, Pattern: "/verify", Anonymous: true, Summary: "Confirms an e-mail address, with a link that was mailed."},
		{Name: "not-me", Methods: both, Pattern: "/not-me", Anonymous: true, Summary: "Ends all access to an account, with a link that was mailed."},
		{Name: "not-me-object", Methods: both, Pattern: "/not-me/object", Anonymous: true, Summary: "Objects, with a link that was mailed, to giving an account its previous e-mail address back."},
		{Name: "unsubscribe", Methods: both, Pattern: "/unsubscribe", Anonymous: true, Summary: "Stops the digests, with a link that was mailed."},
		{Name: "stylesheet", Methods: get, Pattern: "/assets/kith.css", Anonymous: true, Summary: "The stylesheet of the pages."},
		{Name: "icon", Methods: get, Pattern: "/assets/kith.svg", Anonymous: true, Summary: "The icon of the pages."},
		{Name: "manifest", Methods: get, Pattern: "/assets/kith.webmanifest", Anonymous: true, Summary: "The web app manifest, with which browsers install Kith."},
		{Name: "icon-192", Methods: get, Pattern: "/assets/icon-192.png", Anonymous: true, Summary: "The icon of the installed app, 192 pixels wide."},
		{Name: "icon-512", Methods: get, Pattern: "/assets/icon-512.png", Anonymous: true, Summary: "The icon of the installed app, 512 pixels wide."},
		{Name: "icon-maskable", Methods: get, Pattern: "/assets/icon-maskable-512.png", Anonymous: true, Summary: "The maskable icon of the installed app."},
		{Name: "service-worker", Methods: get, Pattern: "/assets/worker.js", Anonymous: true, Summary: "The service worker. It caches the files of pages, but neither pages nor data."},
		{Name: "imports-script", Methods: get, Pattern: "/assets/imports.js", Anonymous: true, Summary: "The script of the page about imports."},
		{Name: "offline-script", Methods: get, Pattern: "/assets/offline.js", Anonymous: true, Summary: "The script that keeps pages for reading without a network."},
		{Name: "passkey-script", Methods: get, Pattern: "/assets/passkey.js", Anonymous: true, Summary: "The script of passkeys."},
		{Name: "connect-script", Methods: get, Pattern: "/assets/connect.js", Anonymous: true, Summary: "The script of the page that connects an agent."},
		{Name: "zone-script", Methods: get, Pattern: "/assets/zone.js", Anonymous: true, Summary: "The script of the page about the time zone."},
		{Name: "profile-script", Methods: get, Pattern: "/assets/profile.js", Anonymous: true, Summary: "The script of the profile form."},
		{Name: "suggest-script", Methods: get, Pattern: "/assets/suggest.js", Anonymous: true, Summary: "The script of pages on which people are named that suggests them."},
		{Name: "drafts-script", Methods: get, Pattern: "/assets/drafts.js", Anonymous: true, Summary: "The script of every member's page that keeps unsaved texts in the browser's tab."},
		{Name: "shell-script", Methods: get, Pattern: "/assets/shell.js", Anonymous: true, Summary: "The script of every member's page: palette and shortcuts."},
		{Name: "consent-script", Methods: get, Pattern: "/assets/consent.js", Anonymous: true, Summary: "The script of the consent page."},
		{Name: "capture-script", Methods: get, Pattern: "/assets/capture.js", Anonymous: true, Summary: "The script of the page that adds a person."},
		{Name: "people-script", Methods: get, Pattern: "/assets/people.js", Anonymous: true, Summary: "The script of the list of people."},
		{Name: "person-script", Methods: get, Pattern: "/assets/person.js", Anonymous: true, Summary: "The script of the page of a person."},
	}
}

// areaPages are the pages about connections and about changes to them.
func areaPages() []route.Route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	both := []string{http.MethodGet, http.MethodPost}
	return []route.Route{
		{Name: "today", Methods: get, Pattern: "/today", Summary: "What is due, and what agents did; signed-in members get it at / too."},
		{Name: "today-done", Methods: post, Pattern: "/today/done", Summary: "Marks a reminder as done, or logs a contact."},
		{Name: "today-snooze", Methods: post, Pattern: "/today/snooze", Summary: "Snoozes a due entry for a week."},
		{Name: "today-steps", Methods: post, Pattern: "/today/steps", Summary: "Hides the first steps."},
		{Name: "today-log", Methods: post, Pattern: "/today/log", Summary: "Logs a contact with a person."},
		{Name: "people", Methods: get, Pattern: "/people", Summary: "The member's people, with a search and filters."},
		{Name: "people-act", Methods: post, Pattern: "/people/act", Summary: "Asks for confirmation of a change to several people, and applies it."},
		{Name: "people-views", Methods: both, Pattern: "/people/views", Summary: "The saved views of the list of people."},
		{Name: "people-views-rename", Methods: post, Pattern: "/people/views/rename", Summary: "Renames a saved view."},
		{Name: "people-views-delete", Methods: post, Pattern: "/people/views/delete", Summary: "Deletes a saved view."},
		{Name: "people-fields", Methods: get, Pattern: "/people/fields", Summary: "The member's custom fields."},
		{Name: "people-fields-save", Methods: post, Pattern: "/people/fields/save", Summary: "Makes a custom field, or changes one."},
		{Name: "people-fields-remove", Methods: post, Pattern: "/people/fields/remove", Summary: "Removes a custom field with its values."},
		{Name: "people-new", Methods: both, Pattern: "/people/new", Summary: "Reads one line about a person into a form, and adds the person."},
		{Name: "people-share", Methods: post, Pattern: pathShare, Summary: "Fills in the form that adds a person with text from another app's share menu; stores nothing."},
		{Name: "people-duplicates", Methods: both, Pattern: "/people/duplicates", Summary: "Lists pairs of records that may be the same person, and merges them."},
		{Name: "organization", Methods: both, Pattern: "/people/organization", Summary: "What the member knows about one organisation, who is and was there, and the form that changes it."},
		{Name: "person", Methods: get, Pattern: "/people/{id}", Summary: "One person, with their timeline."},
		{Name: "bin", Methods: get, Pattern: "/people/bin", Summary: "People who were deleted in the last 30 days."},
		{Name: "bin-restore", Methods: post, Pattern: "/people/bin/restore", Summary: "Restores a deleted person."},
		{Name: "bin-delete", Methods: both, Pattern: "/people/bin/delete", Summary: "Asks for confirmation before people in the bin are deleted for good, and deletes them."},
		{Name: "connect", Methods: get, Pattern: "/connect", Summary: "How to connect an agent, whether an agent is connected, and questions to try."},
		{Name: "activity", Methods: get, Pattern: "/activity", Summary: "Every change in the member's data, and what agents read."},
		{Name: "activity-undo", Methods: both, Pattern: "/activity/undo", Summary: "Shows what undoing changes would do, and undoes them."},
		{Name: "activity-reads", Methods: get, Pattern: "/activity/reads", Summary: "How often agents called reading tools, by day."},
		{Name: "decide", Methods: get, Pattern: "/decide", Summary: "The requests of agents for the member's approval, and the last decisions."},
		{Name: "decide-approve", Methods: post, Pattern: "/decide/approve", Summary: "Approves an agent's request; Kith then executes it."},
		{Name: "decide-refuse", Methods: post, Pattern: "/decide/refuse", Summary: "Refuses an agent's request."},
		{Name: "network", Methods: get, Pattern: "/network", Summary: "The member's people by organisation, place, tag and time, and who can introduce the member to an organisation."},
		{Name: "import", Methods: both, Pattern: pathImport, Summary: "Uploads a file of contacts, of up to 10 MiB."},
		{Name: "import-columns", Methods: both, Pattern: pathImport + "/{id}", Summary: "The format of an uploaded file, and the meaning of its columns."},
		{Name: "import-preview", Methods: both, Pattern: pathImport + "/{id}/preview", Summary: "Previews the import of a file, row by row, and starts it."},
		{Name: "import-progress", Methods: get, Pattern: pathImport + "/{id}/progress", Summary: "The progress and the result of an import."},
		{Name: "import-people", Methods: get, Pattern: pathImport + "/{id}/people", Summary: "The people whom an import added."},
		{Name: "groups", Methods: get, Pattern: "/groups", Summary: "The member's groups and tags."},
		{Name: "group", Methods: get, Pattern: "/groups/{id}", Summary: "The forms that change one group."},
		{Name: "group-save", Methods: post, Pattern: "/groups/save", Summary: "Creates or changes a group."},
		{Name: "group-merge", Methods: post, Pattern: "/groups/merge", Summary: "Merges a group into another one."},
		{Name: "group-delete", Methods: post, Pattern: "/groups/delete", Summary: "Deletes a group; its people stay."},
		{Name: "tag", Methods: get, Pattern: "/groups/tag", Summary: "The forms that change one tag."},
		{Name: "tag-rename", Methods: post, Pattern: "/groups/tag/rename", Summary: "Renames a tag, or merges it into another one."},
		{Name: "tag-remove", Methods: post, Pattern: "/groups/tag/remove", Summary: "Removes a tag from all people."},
		{Name: "person-merge", Methods: both, Pattern: "/people/{id}/merge", Summary: "Lists the records that a person may be merged with, previews the merge, and merges."},
		{Name: "person-edit", Methods: post, Pattern: "/people/{id}/edit", Summary: "Saves the form of one section of a person."},
		{Name: "person-note", Methods: post, Pattern: "/people/{id}/note", Summary: "Adds a note about a person."},
		{Name: "person-log", Methods: post, Pattern: "/people/{id}/log", Summary: "Logs a contact with a person."},
		{Name: "person-remind", Methods: post, Pattern: "/people/{id}/remind", Summary: "Sets a reminder about a person."},
		{Name: "person-entry", Methods: post, Pattern: "/people/{id}/entry", Summary: "Pins a note, or deletes an entry of the timeline."},
		{Name: "person-entry-edit", Methods: post, Pattern: "/people/{id}/entry-edit", Summary: "Saves the form of an entry of the timeline."},
		{Name: "person-reminder", Methods: post, Pattern: "/people/{id}/reminder", Summary: "Completes, moves or deletes a reminder."},
		{Name: "person-reminder-edit", Methods: post, Pattern: "/people/{id}/reminder-edit", Summary: "Saves the form of a reminder."},
		{Name: "person-act", Methods: post, Pattern: "/people/{id}/act", Summary: "Stars, archives or deletes a person, or undoes that."},
		{Name: "person-photo", Methods: get, Pattern: "/people/{id}/photo", RatePolicy: ratelimit.PolicyPhotos, Summary: "The photo of a person, in one of several sizes."},
		{Name: "person-photo-upload", Methods: post, Pattern: pathPhotoUpload, Summary: "Uploads a new photo of a person."},
		{Name: "person-photo-remove", Methods: post, Pattern: "/people/{id}/photo-remove", Summary: "Removes the photo of a person."},
		{Name: "person-link", Methods: post, Pattern: "/people/{id}/link", Summary: "Adds a relation to another person."},
		{Name: "person-unlink", Methods: post, Pattern: "/people/{id}/unlink", Summary: "Removes a relation."},
	}
}

// settingsPages are the pages of the account.
func settingsPages() []route.Route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	both := []string{http.MethodGet, http.MethodPost}
	return []route.Route{
		{Name: "settings", Methods: get, Pattern: "/settings", Summary: "The member's settings."},
		{Name: "settings-profile", Methods: both, Pattern: "/settings/profile", Summary: "The public profile, with who sees what."},
		{Name: "settings-mcp", Methods: get, Pattern: "/settings/mcp", Summary: "Connected agents, and what they may do."},
		{Name: "settings-agents", Methods: get, Pattern: "/settings/agents", Summary: "Connected agents; the same as /settings/mcp."},
		{Name: "settings-agents-narrow", Methods: post, Pattern: "/settings/agents/narrow", Summary: "Removes scopes or tools from an agent."},
		{Name: "settings-agents-widen", Methods: post, Pattern: "/settings/agents/widen", Summary: "Allows more scopes or tools to an agent."},
		{Name: "settings-agents-ask", Methods: post, Pattern: "/settings/agents/ask", Summary: "Chooses for which changes an agent or a token needs the member's approval."},
		{Name: "settings-agents-pause", Methods: post, Pattern: "/settings/agents/pause", Summary: "Pauses an agent: its calls are refused."},
		{Name: "settings-agents-resume", Methods: post, Pattern: "/settings/agents/resume", Summary: "Ends the pause of an agent."},
		{Name: "settings-tokens", Methods: both, Pattern: "/settings/mcp/tokens", Summary: "Personal tokens, and the form that creates one."},
		{Name: "settings-tokens-revoke", Methods: post, Pattern: "/settings/mcp/tokens/revoke", Summary: "Revokes a personal token."},
		{Name: "settings-devices", Methods: both, Pattern: "/settings/devices", Summary: "The devices that synchronise people, the calendar feeds, and the forms that add them."},
		{Name: "settings-feeds", Methods: post, Pattern: "/settings/devices/feeds", Summary: "Makes a calendar feed, whose address is shown once."},
		{Name: "settings-feeds-remove", Methods: post, Pattern: "/settings/devices/feeds/remove", Summary: "Removes a calendar feed: its address stops working."},
		{Name: "settings-device-login", Methods: both, Pattern: "/settings/devices/login", Summary: "Asks the member whether a program may be a device, to which the program sends them."},
		{Name: "settings-device-login-refuse", Methods: post, Pattern: "/settings/devices/login/refuse", Summary: "Refuses a program that asks to be a device."},
		{Name: "settings-devices-remove", Methods: post, Pattern: "/settings/devices/remove", Summary: "Removes a device: its app password ends."},
		{Name: "settings-agents-revoke", Methods: post, Pattern: "/settings/mcp/agents/revoke", Summary: "Revokes an agent's access."},
		{Name: "settings-activity", Methods: get, Pattern: "/settings/activity", Summary: "Redirects to /activity."},
		{Name: "settings-activity-undo", Methods: get, Pattern: "/settings/activity/undo", Summary: "Redirects to /activity/undo."},
		{Name: "settings-bin", Methods: get, Pattern: "/settings/bin", Summary: "Redirects to /people/bin."},
		{Name: "settings-bin-delete", Methods: get, Pattern: "/settings/bin/delete", Summary: "Redirects to /people/bin/delete."},
		{Name: "settings-search", Methods: both, Pattern: "/settings/search", Summary: "Whether texts may be sent to a remote embedding provider."},
		{Name: "settings-sources", Methods: both, Pattern: "/settings/sources", Summary: "The calendars and address books that are read, and the forms that add one."},
		{Name: "settings-source", Methods: both, Pattern: "/settings/sources/{id}", Summary: "One source: how it was read, and the form that starts, pauses and removes it."},
		{Name: "settings-source-choices", Methods: post, Pattern: "/settings/sources/{id}/choices", Summary: "Changes which meetings of a calendar count, or which address book of an account is read."},
		{Name: "settings-source-people", Methods: post, Pattern: "/settings/sources/{id}/people", Summary: "Adds people whom the member met, or no longer offers them."},
		{Name: "settings-notifications", Methods: both, Pattern: "/settings/notifications", Summary: "When the member gets a digest by mail."},
		{Name: "settings-notifications-now", Methods: post, Pattern: "/settings/notifications/now", Summary: "Sends the member a digest at once."},
		{Name: "settings-time", Methods: both, Pattern: "/settings/time", Summary: "The member's time zone and locale."},
		{Name: "settings-imports", Methods: get, Pattern: "/settings/imports", Summary: "Imports of files with their results, and how to export and move the data."},
		{Name: "settings-imports-cancel", Methods: post, Pattern: "/settings/imports/cancel", Summary: "Cancels an import."},
		{Name: "settings-imports-undo", Methods: post, Pattern: "/settings/imports/undo", Summary: "Undoes an import."},
		{Name: "settings-security", Methods: get, Pattern: "/settings/security", Summary: "Password, e-mail address and sessions."},
		{Name: "settings-two-step", Methods: both, Pattern: "/settings/security/two-step", Summary: "Two-step sign-in: the app for one-time codes, and recovery codes."},
		{Name: "settings-two-step-codes", Methods: post, Pattern: "/settings/security/two-step/codes", Summary: "Creates new recovery codes."},
		{Name: "settings-two-step-off", Methods: post, Pattern: "/settings/security/two-step/off", Summary: "Turns the app for one-time codes off."},
		{Name: "settings-passkeys", Methods: post, Pattern: "/settings/security/two-step/passkeys", Summary: "Adds a passkey."},
		{Name: "settings-passkeys-options", Methods: post, Pattern: "/settings/security/two-step/passkeys/options", Summary: "Returns the WebAuthn options for adding a passkey."},
		{Name: "settings-passkeys-remove", Methods: post, Pattern: "/settings/security/two-step/passkeys/remove", Summary: "Removes a passkey."},
		{Name: "settings-password", Methods: post, Pattern: "/settings/security/password", Summary: "Changes the password."},
		{Name: "settings-verify", Methods: post, Pattern: "/settings/security/verify", Summary: "Sends a link that confirms the e-mail address."},
		{Name: "settings-email", Methods: post, Pattern: "/settings/security/email", Summary: "Sends a link that changes the e-mail address."},
		{Name: "settings-email-confirm", Methods: both, Pattern: "/settings/security/email/confirm", Summary: "Changes the e-mail address, with a link that was mailed."},
		{Name: "settings-sign-out", Methods: post, Pattern: "/settings/security/sign-out", Summary: "Signs every browser out."},
		{Name: "settings-session-end", Methods: post, Pattern: "/settings/security/sessions/end", Summary: "Signs one browser out."},
		{Name: "settings-sessions-end-others", Methods: post, Pattern: "/settings/security/sessions/end-others", Summary: "Signs all other browsers out."},
		{Name: "settings-seen", Methods: post, Pattern: "/settings/security/seen", Summary: "Hides the notice of security events."},
		{Name: "settings-provider-unlink", Methods: post, Pattern: "/settings/security/provider/unlink", Summary: "Unlinks an identity provider."},
		{Name: "settings-account", Methods: get, Pattern: "/settings/account", Summary: "Profile, time zone, credits and space of the account, and the form that deletes it."},
		{Name: "settings-export", Methods: get, Pattern: "/settings/account/export", Summary: "All data of the member, as a ZIP."},
		{Name: "settings-export-file", Methods: get, Pattern: "/settings/exports/{job}", Summary: "A file of people that export_connections made. For an hour, the signed-in member or a bearer with the scope connections can download it."},
		{Name: "settings-delete", Methods: post, Pattern: "/settings/account/delete", Summary: "Deletes the account."},
	}
}

// demo returns copies of areaPages below /demo, which need no session, show the data of the
// demo account and are read-only.
func demo(pages []route.Route) []route.Route {
	var routes []route.Route
	for _, r := range pages {
		if !route.NeedsMember(r.Pattern+"/") || strings.HasPrefix(r.Pattern, "/settings") || strings.HasPrefix(r.Pattern, pathImport) || !slices.Contains(r.Methods, http.MethodGet) {
			continue
		}
		r.Name, r.Pattern, r.Methods = "demo-"+r.Name, route.DemoPrefix+strings.TrimPrefix(r.Pattern, "/today"), []string{http.MethodGet}
		r.Anonymous, r.SandboxOnly = true, true
		if r.RatePolicy == ratelimit.PolicySettings {
			r.RatePolicy = ratelimit.PolicyDemo
		}
		r.Summary = "With the data of the demo account, read-only: " + strings.ToLower(r.Summary[:1]) + r.Summary[1:]
		routes = append(routes, r)
	}
	return routes
}
