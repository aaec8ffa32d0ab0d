package call

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/tenant"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// Allows reports whether the caller may call a tool. The member may call each one on a page.
func Allows(ctx context.Context, tool string) bool {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		return s.Allows != nil && s.Allows(tool)
	}
	p := tenant.PrincipalFrom(ctx)
	return p != nil && p.Credential.ID == ""
}

// Next returns a call for the field next of an answer, or nothing if the caller may not make it.
// The arguments are texts, numbers, booleans, and lists and maps of these.
func Next(ctx context.Context, tool string, arguments map[string]any) []*toolv1.NextCall {
	s, ok := ctx.Value(stateKey{}).(*State)
	if !ok || s.Allows == nil || !s.Allows(tool) {
		return nil
	}
	next := &toolv1.NextCall{Tool: tool}
	if len(arguments) > 0 {
		given, err := structpb.NewStruct(arguments)
		if err != nil {
			return nil
		}
		next.Arguments = given
	}
	return []*toolv1.NextCall{next}
}
