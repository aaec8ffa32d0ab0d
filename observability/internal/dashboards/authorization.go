package dashboards

func authorization() Dashboard {
	const events = "kith_oauth_events_total"
	return Dashboard{
		Name: "authorization", Title: "Kith: authorization",
		Description: "Sign-in, consent and tokens: successes, refusals and server errors.",
		Rows: []Row{
			{"Sign-in", []Panel{
				{Title: "Sign-ins", Description: "Sign-ins with a password, by result.", Unit: "ops",
					Link: runbook("KithSignInsRefused"), Queries: one(rate("result", events+`{kind="sign_in"}`), "{{result}}")},
				{Title: "Share of refused sign-ins", Description: "Share of sign-ins that were refused or rate limited. If nearly all are refused, there is an attack or a fault.", Unit: "percentunit", Max: 0.8,
					Link: runbook("KithSignInsRefused"), Queries: one(share("", events+`{kind="sign_in",result=~"refused|limited"}`, events+`{kind="sign_in"}`), "refused")},
				{Title: "Share of server errors", Description: "Share of sign-in and authorization events that failed because of a server error.", Unit: "percentunit", Max: 0.05,
					Link: runbook("KithSignInsFail"), Queries: one(share("", events+`{result="failed"}`, events), "failed")},
				{Title: "Sign-ins through a provider", Description: "Sign-ins through the OpenID provider, by result.", Unit: "ops",
					Link: runbook("KithSignInsFail"), Queries: one(rate("result", events+`{kind="provider_sign_in"}`), "{{result}}")},
			}},
			{"Agents", []Panel{
				{Title: "Registrations and consents", Description: "Clients registered, authorizations requested and consents given or denied.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"register|authorize|consent"}`), "{{kind}} {{result}}")},
				{Title: "Tokens", Description: "Codes exchanged, tokens refreshed and revoked, by result.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"code|refresh|token|revoke"}`), "{{kind}} {{result}}")},
				{Title: "Personal tokens and revocations", Description: "Personal tokens created and revoked, and agents revoked, on the settings pages.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"personal_token|personal_token_revoke|agent_revoke|agent_narrow|agent_pause|agent_resume"}`), "{{kind}} {{result}}")},
				{Title: "Calls without a valid credential", Description: "RPCs and tool calls answered with unauthenticated.", Unit: "ops", Queries: []Query{
					{rate("", `kith_connect_requests_total{code="unauthenticated"}`) + " or vector(0)", "RPCs"},
					{rate("", `kith_tool_calls_total{outcome="unauthenticated"}`), "tool calls"},
				}},
			}},
			{"Members", []Panel{
				{Title: "Accounts", Description: "Sign-ups, e-mail verifications, sign-outs, password changes and deleted accounts.", Unit: "ops",
					Queries: one(rate("kind", events+`{kind=~"sign_up|verify|sign_out|sign_out_everywhere|forgot|reset|password|email_change|email_change_confirm|account_delete"}`), "{{kind}}")},
				{Title: "Rate-limited attempts", Description: "Events refused because of too many attempts, by kind.", Unit: "ops",
					Link: runbook("KithSignInsRefused"), Queries: one(rate("kind", events+`{result="limited"}`), "{{kind}}")},
				{Title: "Page latency, 95 %", Description: "95th percentile of the routes of the authorization server and of the web pages.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "route", `kith_http_request_duration_seconds{route=~"oauth-.*|sign-.*|settings.*|forgot|reset|verify"}`), "{{route}}")},
			}},
		},
	}
}
