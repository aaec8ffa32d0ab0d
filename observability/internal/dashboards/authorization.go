package dashboards

func authorization() Dashboard {
	const events = "kith_oauth_events_total"
	return Dashboard{
		Name: "authorization", Title: "Kith: authorization",
		Description: "Sign-in, consent and tokens: who gets in, who does not, and whether that is our fault.",
		Rows: []Row{
			{"Signing in", []Panel{
				{Title: "Sign-ins", Description: "Sign-ins with a password, by result.", Unit: "ops",
					Link: runbook("KithSignInsRefused"), Queries: one(rate("result", events+`{kind="sign_in"}`), "{{result}}")},
				{Title: "Share of refused sign-ins", Description: "Sign-ins that were refused or limited; nearly all of them refused is an attack, or a fault.", Unit: "percentunit", Bound: 0.8,
					Link: runbook("KithSignInsRefused"), Queries: one(share("", events+`{kind="sign_in",result=~"refused|limited"}`, events+`{kind="sign_in"}`), "refused")},
				{Title: "Share of faults", Description: "Events of sign-in and authorization that failed by a fault of ours.", Unit: "percentunit", Bound: 0.05,
					Link: runbook("KithSignInsFail"), Queries: one(share("", events+`{result="failed"}`, events), "failed")},
				{Title: "Through a provider", Description: "Sign-ins through the OpenID provider, by result.", Unit: "ops",
					Link: runbook("KithSignInsFail"), Queries: one(rate("result", events+`{kind="provider_sign_in"}`), "{{result}}")},
			}},
			{"Agents", []Panel{
				{Title: "Registrations and consents", Description: "Clients that register, ask, and are allowed or denied.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"register|authorize|consent"}`), "{{kind}} {{result}}")},
				{Title: "Tokens", Description: "Codes exchanged, tokens refreshed and revoked, by result.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"code|refresh|token|revoke"}`), "{{kind}} {{result}}")},
				{Title: "Personal tokens and revocations", Description: "What members do on their pages of agents and tokens.", Unit: "ops",
					Queries: one(rate("kind, result", events+`{kind=~"personal_token|personal_token_revoke|agent_revoke"}`), "{{kind}} {{result}}")},
				{Title: "Calls without a valid credential", Description: "RPCs that were answered unauthenticated, and tool calls at the edge.", Unit: "ops", Queries: []Query{
					{rate("", `kith_connect_requests_total{code="unauthenticated"}`) + " or vector(0)", "RPCs"},
					{rate("", `kith_tool_calls_total{outcome="unauthenticated"}`), "tool calls"},
				}},
			}},
			{"Members", []Panel{
				{Title: "Accounts", Description: "Members who sign up, verify, sign out, forget and set passwords, or leave.", Unit: "ops",
					Queries: one(rate("kind", events+`{kind=~"sign_up|verify|sign_out|sign_out_everywhere|forgot|reset|password|account_delete"}`), "{{kind}}")},
				{Title: "Attempts refused for their number", Description: "Events that were limited, by kind.", Unit: "ops",
					Link: runbook("KithSignInsRefused"), Queries: one(rate("kind", events+`{result="limited"}`), "{{kind}}")},
				{Title: "Time of the pages, 95 %", Description: "Routes of the authorization server and of people's pages.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "route", `kith_http_request_duration_seconds{route=~"oauth-.*|sign-.*|settings.*|forgot|reset|verify"}`), "{{route}}")},
			}},
		},
	}
}
