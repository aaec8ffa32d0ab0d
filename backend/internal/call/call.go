// Package call is what handlers of RPCs share: the state of a call that they and the
// pipeline exchange, and the small pieces of messages that every feature has.
package call

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/cursor"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	jobsv1 "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
	"google.golang.org/protobuf/types/known/structpb"
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

// DayOf returns the day of a time in the member's time zone, and nil for the zero time.
func DayOf(ctx context.Context, t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(civil.Of(t, ZoneOf(ctx)).Format(time.DateOnly))
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
	// Asked is set if the member may have to approve the call; then Shown is what the page on which they
	// decide shows, beside the change that it would record. It is JSON.
	Asked bool
	Shown json.RawMessage
	// Effect is what a read writes besides its answer, such as a job that it starts; nil
	// for none.
	Effect Effect
	// Allows reports whether the caller may call a tool.
	Allows func(tool string) bool
	// ChangeID is the id of the last change that the call recorded, and Summary a sentence about it, without
	// what the caller may not read. Both are empty if the call recorded none.
	ChangeID, Summary string
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

// Asked reports whether the member may have to approve the call.
func Asked(ctx context.Context) bool {
	s, ok := ctx.Value(stateKey{}).(*State)
	return ok && s.Asked
}

// Show tells a member who has to approve the call what it would do, as JSON.
func Show(ctx context.Context, shown json.RawMessage) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		s.Shown = shown
	}
}

// Recorded keeps the id and the summary of a change for the answer of the call that recorded it. Outside of a call, it does not
// call summary.
func Recorded(ctx context.Context, changeID string, summary func() (string, error)) (err error) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		s.ChangeID = changeID
		s.Summary, err = summary()
	}
	return err
}

// Change returns the id and the summary of the last change that the call recorded; both are empty if it recorded none.
func Change(ctx context.Context) (changeID, summary string) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		return s.ChangeID, s.Summary
	}
	return "", ""
}

// SkipCharge makes a write free, for when its work was already done.
func SkipCharge(ctx context.Context) {
	if s, ok := ctx.Value(stateKey{}).(*State); ok {
		s.Free = true
	}
}

// ZoneOf returns the time zone of the caller's member; UTC without a caller.
func ZoneOf(ctx context.Context) *time.Location {
	if p := tenant.PrincipalFrom(ctx); p != nil {
		return civil.Zone(p.Timezone)
	}
	return time.UTC
}

// parseDay parses a calendar day into the form of package civil; nil is the zero time.
func parseDay(field string, value *string) (time.Time, error) {
	if value == nil {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, *value)
	if err != nil {
		return t, fault.InvalidField(field, "%s", civil.NoDay(*value))
	}
	return t, nil
}

// StartOfDay returns the moment at which a day begins for the caller's member, or the day
// that is the given number of days later; nil is the zero time.
func StartOfDay(ctx context.Context, field string, value *string, after int) (time.Time, error) {
	day, err := parseDay(field, value)
	if err != nil || value == nil {
		return day, err
	}
	return civil.Start(day.AddDate(0, 0, after), ZoneOf(ctx)).UTC(), nil
}

// earliestMoment is the earliest moment that ParseMoment accepts.
var earliestMoment = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseMoment parses the time of an event: a time, as civil.ParseTime reads it, or a calendar day, which
// means its noon in the member's time zone (or now, if it is today and not yet noon). local
// is the day or the time with its offset, as the caller gave it, and empty for a time in UTC: see
// civil.Local. nil is the zero time.
func ParseMoment(ctx context.Context, field string, value *string, now time.Time) (at time.Time, local string, err error) {
	if value == nil {
		return time.Time{}, "", nil
	}
	if at, err = civil.ParseTime(*value, ZoneOf(ctx)); len(*value) == len(time.DateOnly) {
		local = *value
		at, err = momentOfDay(ctx, field, value, now)
	} else if err != nil {
		err = fault.InvalidField(field, "%q is no time of the calendar", *value)
	} else if text := at.Format(time.RFC3339); !strings.HasSuffix(text, "Z") {
		local = text
	}
	if err == nil && at.Before(earliestMoment) {
		err = fault.InvalidField(field, "must not be before %d", earliestMoment.Year())
	}
	return at.UTC().Truncate(time.Microsecond), local, err
}

func momentOfDay(ctx context.Context, field string, value *string, now time.Time) (time.Time, error) {
	zone := ZoneOf(ctx)
	day, err := parseDay(field, value)
	if err != nil {
		return day, err
	}
	noon, today := civil.Noon(day, zone), civil.Of(now, zone)
	switch {
	case day.After(today):
		return noon, fault.InvalidField(field, "%s lies in the future; today is %s (%s)", *value, today.Format(time.DateOnly), zone)
	case noon.After(now) && day.Equal(today):
		return now, nil
	}
	return noon, nil
}

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

// Selector returns the ids of all people in a selection of search_connections. It fails
// with fault.Invalid or fault.Conflict when the selection is no longer valid.
type Selector func(ctx context.Context, selection string) ([]string, error)

// People returns the ids that a call lists, or else those of its selection.
func People(ctx context.Context, ids []string, selection *string, selected Selector) ([]string, error) {
	if selection == nil {
		return ids, nil
	}
	return selected(ctx, *selection)
}

// maxNames is how many names an answer shows of the people that a call changes.
const maxNames = 10

// FirstNames returns the names of the first rows.
func FirstNames[T any](rows []T, name func(T) string) []string {
	out := make([]string, 0, maxNames)
	for _, row := range rows[:min(len(rows), maxNames)] {
		out = append(out, name(row))
	}
	return out
}

// QuotaContext returns the context for the transaction of a request. Requests that delete, cancel or
// undo something may exceed the member's quota: see db.WithExtraQuota.
func QuotaContext(ctx context.Context, request any) context.Context {
	switch request.(type) {
	case *connectionsv1.DeleteConnectionRequest, *timelinev1.DeleteTimelineEntryRequest, *jobsv1.CancelJobRequest, *accountv1.UndoChangeRequest:
		return db.WithExtraQuota(ctx)
	}
	return ctx
}
