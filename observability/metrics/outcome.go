package metrics

// Outcome is how a tool call ended. The zero value is OutcomeInternal, so that a code
// path that forgets to set it does not count as a success.
type Outcome uint8

// The closed set of outcomes.
const (
	// OutcomeInternal is an error of the service.
	OutcomeInternal Outcome = iota
	// OutcomeOK is a successful call.
	OutcomeOK
	// OutcomeToolError is a call that the tool answered with a domain error, such as
	// "not found".
	OutcomeToolError
	// OutcomeInvalidArguments is a call whose arguments violate the tool's schema.
	OutcomeInvalidArguments
	// OutcomeRefused is a known caller without the scope or the credits.
	OutcomeRefused
	// OutcomeUnauthenticated is a caller without a valid token.
	OutcomeUnauthenticated
	// OutcomeUnknownTool is a call of a tool that is not in the catalogue.
	OutcomeUnknownTool
	// OutcomeRateLimited is a call over its rate policy.
	OutcomeRateLimited
	// OutcomeUnavailable is a call that failed because the backend or the database was
	// unreachable.
	OutcomeUnavailable
	// OutcomeAbandoned is a call whose caller disconnected before the answer.
	OutcomeAbandoned
)

// String returns the outcome's label value; "internal" for any other number.
func (o Outcome) String() string {
	names := [...]string{"internal", "ok", "tool_error", "invalid_arguments", "refused", "unauthenticated", "unknown_tool", "rate_limited", "unavailable", "abandoned"}
	if int(o) >= len(names) {
		o = OutcomeInternal
	}
	return names[o]
}
