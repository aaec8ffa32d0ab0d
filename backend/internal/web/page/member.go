package page

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Member is a request to a page that shows a member's data. The member is the caller of the
// tools' handlers that the page calls; pages spend no credits.
type Member struct {
	*Request

	// Ctx carries the member as the caller, and ends after maxTime.
	Ctx context.Context //nolint:containedctx // lives as long as the request
	// Principal is the member.
	Principal *tenant.Principal
	// Zone is the member's time zone, At the time of the request.
	Zone *time.Location
	At   time.Time
}

// ForMember returns a handler that reads the member and passes it to handle.
func ForMember(handle func(m *Member) error) Handler {
	return func(v *Request) error {
		principal, err := oauth.Member(v.R.Context(), v.Store, v.Owner)
		if err != nil {
			return err
		}
		if !v.inDemo() {
			v.locale = principal.Locale
		}
		ctx, cancel := context.WithTimeout(tenant.WithPrincipal(v.R.Context(), principal), maxTime)
		defer cancel()
		return handle(&Member{Request: v, Ctx: ctx, Principal: principal, Zone: civil.Zone(principal.Timezone), At: v.Now()})
	}
}

// With returns a function that makes handlers from the methods of R, a request of a member with what
// the pages of a folder need; wrap makes one.
func With[R any](wrap func(*Member) R) func(handle func(R) error) Handler {
	return func(handle func(R) error) Handler {
		return ForMember(func(m *Member) error { return handle(wrap(m)) })
	}
}

// maxTime bounds the reads and writes of a page, as those of a tool are bounded.
const maxTime = 30 * time.Second

// WithoutDeadline returns Ctx without its end, for downloads: they may take longer than maxTime.
func (m *Member) WithoutDeadline() context.Context {
	return tenant.WithPrincipal(m.R.Context(), m.Principal)
}

// Today returns the current day in the member's time zone.
func (m *Member) Today() time.Time { return civil.Of(m.At, m.Zone) }

// Data returns the member's data.
func (m *Member) Data() *db.Tenant { return m.Store.Tenant(m.Principal.Tenant, m.Principal.ReadOnly) }

// Read calls the handler of a tool that reads. If the request is wrong, it returns the
// errors of its fields in place of an answer.
func Read[Q proto.Message, A any](m *Member, req Q, handle func(context.Context, Q) (A, error)) (answer A, wrong []FieldError, err error) {
	if wrong, err = m.Check(req); err != nil || len(wrong) > 0 {
		return answer, wrong, err
	}
	answer, err = handle(m.Ctx, req)
	wrong, err = Violations(err)
	return answer, wrong, err
}

// Write calls the handler of a tool that writes, in a transaction whose change is recorded
// under the name of a page. If the request is wrong, nothing is written, and Write returns
// the errors of its fields in place of an answer.
func Write[Q proto.Message, A any](m *Member, from string, req Q, handle func(context.Context, *db.Tx, Q) (A, error)) (answer A, wrong []FieldError, err error) {
	if wrong, err = m.Check(req); err != nil || len(wrong) > 0 {
		return answer, wrong, err
	}
	if m.Principal.ReadOnly {
		return answer, nil, fault.New(fault.ReadOnly, "this account is read-only")
	}
	err = m.Data().Write(call.QuotaContext(m.Ctx, req), db.Actor{Tool: from}, func(ctx context.Context, tx *db.Tx) error {
		answer, err = handle(ctx, tx, req)
		return err
	})
	wrong, err = Violations(err)
	return answer, wrong, err
}

// Change makes a change of the member's data in a transaction, recorded under the name of a page, and
// returns what fn returns.
func Change[A any](m *Member, from string, fn func(context.Context, *db.Tx) (A, error)) (answer A, err error) {
	err = m.Data().Write(m.Ctx, db.Actor{Tool: from}, func(ctx context.Context, tx *db.Tx) (err error) {
		answer, err = fn(ctx, tx)
		return err
	})
	return answer, err
}

// Check returns what is wrong with a request of the contract, for each field.
func (m *Member) Check(req proto.Message) ([]FieldError, error) {
	found, err := m.checker.Check(req, m.Today().Format(time.DateOnly))
	var wrong []FieldError
	for _, p := range found {
		wrong = append(wrong, violation(p.Field(), p.Text))
	}
	return wrong, err
}

// Violations returns the errors of fields that a handler found, and any other error.
func Violations(err error) ([]FieldError, error) {
	var coded *fault.Error
	if !errors.As(err, &coded) || coded.Code != fault.Invalid || len(coded.Fields) == 0 {
		return nil, err
	}
	var wrong []FieldError
	for _, f := range coded.Fields {
		wrong = append(wrong, violation(f.Name, f.Message))
	}
	return wrong, nil
}

// Fill sets the fields of a request of the contract from the parameters of an address or
// of a form, by their names; q is the field query. It ignores empty parameters, and those that
// the request does not know.
func Fill(req proto.Message, given url.Values) {
	message := req.ProtoReflect()
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		values := slices.DeleteFunc(slices.Clone(given[parameterOf(field.Name())]), func(s string) bool { return s == "" })
		if len(values) == 0 {
			continue
		}
		switch {
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			list := message.Mutable(field).List()
			for _, value := range values {
				list.Append(protoreflect.ValueOfString(value))
			}
		case field.Kind() == protoreflect.StringKind:
			message.Set(field, protoreflect.ValueOfString(values[0]))
		case field.Kind() == protoreflect.BoolKind:
			message.Set(field, protoreflect.ValueOfBool(values[0] == "true"))
		}
	}
}

func parameterOf(field protoreflect.Name) string {
	if field == "query" {
		return "q"
	}
	return string(field)
}
