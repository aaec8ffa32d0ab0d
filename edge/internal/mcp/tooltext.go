package mcp

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// Reasons of the backend for a refusal.
const (
	reasonMissingScope = "missing_scope"
	reasonReadOnly     = "read_only_account"
	reasonToolLimit    = "limited_to_tools"
)

// argumentsText tells a model which arguments break which rule, one per line.
func argumentsText(tool string, err *upstream.Error) string {
	var text strings.Builder
	text.WriteString("The arguments of " + tool + " are not valid:")
	for _, f := range err.Fields {
		text.WriteString("\n- " + f.Message)
	}
	if len(err.Fields) == 0 {
		text.WriteString("\n- " + sentence(err.Message))
	}
	return text.String()
}

// sentence stands in for a message that the backend left out.
func sentence(message string) string {
	if message == "" {
		return "The backend gave no reason."
	}
	return message
}

func internalText(ctx context.Context, tool string) string {
	return tool + " failed on our side, so nothing is wrong with the call; the request id is " +
		exchange.RequestID(ctx) + "."
}

// refusedCall is the error for a live credential that may not call the tool.
func refusedCall(tool string, err *upstream.Error) *failure {
	f := answerError(codeRefused, refusedText(tool, err))
	b := appendString([]byte(`{"reason":`), err.Reason)
	b = appendStrings(append(b, `,"required_scopes":`...), err.RequiredScopes)
	if len(err.AllowedTools) > 0 {
		b = appendStrings(append(b, `,"allowed_tools":`...), err.AllowedTools)
	}
	f.data = append(b, '}')
	return f
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

func refusedText(tool string, err *upstream.Error) string {
	switch err.Reason {
	case reasonMissingScope:
		scopes := "the scope "
		if len(err.RequiredScopes) > 1 {
			scopes = "the scopes "
		}
		return "Refused: " + tool + " needs a credential with " + scopes + strings.Join(err.RequiredScopes, " and ") + "."
	case reasonReadOnly:
		return "Refused: " + tool + " writes, and this account is read-only."
	case reasonToolLimit:
		return "Refused: this token is limited to named tools, and " + tool + " is not one of them. It may call " + strings.Join(err.AllowedTools, ", ") + "."
	default:
		return "Refused: " + sentence(err.Message)
	}
}
