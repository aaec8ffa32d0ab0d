package metrics

// Outcome is how a tool call ended. The zero value is OutcomeInternal, so that a
// path that forgets to say does not look like a success.
type Outcome uint8

// The closed set of outcomes.
const (
	// OutcomeInternal is a fault of ours.
	OutcomeInternal Outcome = iota
	// OutcomeOK is a call that did what was asked.
	OutcomeOK
	// OutcomeToolError is a call that the tool answered with an error of its
	// domain, such as "not found".
	OutcomeToolError
	// OutcomeInvalidArguments is a call whose arguments break the tool's schema.
	OutcomeInvalidArguments
	// OutcomeRefused is a known caller without the scope or the credits.
	OutcomeRefused
	// OutcomeUnauthenticated is a caller without a valid token.
	OutcomeUnauthenticated
	// OutcomeUnknownTool is a call of a tool that is not in the catalogue.
	OutcomeUnknownTool
	// OutcomeRateLimited is a call over its rate policy.
	OutcomeRateLimited
	// OutcomeUnavailable is a call that could not reach what it needs.
	OutcomeUnavailable
	// OutcomeAbandoned is a call whose caller went away before the answer.
	OutcomeAbandoned

	outcomeCount // not an outcome
)

// String is the outcome's label value. It is "internal" for what is no outcome.
func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeToolError:
		return "tool_error"
	case OutcomeInvalidArguments:
		return "invalid_arguments"
	case OutcomeRefused:
		return "refused"
	case OutcomeUnauthenticated:
		return "unauthenticated"
	case OutcomeUnknownTool:
		return "unknown_tool"
	case OutcomeRateLimited:
		return "rate_limited"
	case OutcomeUnavailable:
		return "unavailable"
	case OutcomeAbandoned:
		return "abandoned"
	default:
		return "internal"
	}
}

// outcomeEndings lists the outcomes in the order of their numbers.
func outcomeEndings() [][]string {
	var endings [][]string
	for o := range outcomeCount {
		endings = append(endings, []string{o.String()})
	}
	return endings
}
