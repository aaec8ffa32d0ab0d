// Package call is what handlers of RPCs share: the state of a call that they and the
// pipeline exchange, and the small pieces of messages that every feature has.
package call

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// checkWords fails with fault.Invalid when a query has nothing to search for, such
// as "*"; instead says what to do then.
func CheckWords(query, instead string) error {
	if strings.ContainsFunc(query, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return nil
	}
	return fault.InvalidField("query", "has no letter or digit, and there are no wildcards; %s", instead)
}

// defaultLimit is how many entries a page has unless a caller says.
const DefaultLimit = 10

// pageOf returns a page's bounds: the offset from the cursor, and the limit or its
// default.
func PageOf(limit *int32, token *string, query any) (offset, size int, err error) {
	size = DefaultLimit
	if limit != nil {
		size = int(*limit)
	}
	if token != nil {
		err = cursor.Decode(*token, query, &offset)
	}
	return offset, size, err
}

// timestamp returns nil for the zero time.
func Timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// optional returns nil for the empty string.
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// limitOf returns the requested limit, or the default.
func LimitOf(limit *int32, usual int) int {
	if limit == nil {
		return usual
	}
	return int(*limit)
}

// State is the data about one call that the pipeline and its handler share.
type State struct {
	// Price is what the call will cost, in credits.
	Price int
	// Free makes a write cost nothing.
	Free bool
	// Effect is what a read writes besides its answer, such as a job that it starts; nil
	// for none.
	Effect Effect
	// Allows reports whether the caller may call a tool.
	Allows func(tool string) bool
}

// Effect writes in the transaction that charges for the call.
type Effect func(ctx context.Context, tx *db.Tx) error

type stateKey struct{}

// With returns a context that carries the state of a call.
func With(ctx context.Context, s *State) context.Context {
	return context.WithValue(ctx, stateKey{}, s)
}

// Price returns what the call will cost; 0 outside of a call.
func Price(ctx context.Context) int {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		return s.Price
	}
	return 0
}

// WriteAfter makes the pipeline run an effect after a read has answered, in the transaction that
// charges for the read. The effect may complete the answer. It returns false outside of a call.
func WriteAfter(ctx context.Context, effect Effect) bool {
	s, ok := ctx.Value(stateKey{}).(*State)
	if ok {
		s.Effect = effect
	}
	return ok
}

// SkipCharge makes a write free, for when its work was already done.
func SkipCharge(ctx context.Context) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		s.Free = true
	}
}
