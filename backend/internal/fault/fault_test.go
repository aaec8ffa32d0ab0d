package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
)

func TestIs(t *testing.T) {
	t.Parallel()
	notFound := fault.New(fault.NotFound, "there is no %s", "con_1")
	cases := []struct {
		name string
		err  error
		code fault.Code
		want bool
	}{
		{"its code", notFound, fault.NotFound, true},
		{"another code", notFound, fault.Invalid, false},
		{"wrapped", fmt.Errorf("get: %w", notFound), fault.NotFound, true},
		{"joined with another error", errors.Join(io.EOF, notFound), fault.NotFound, true},
		{"the outer code hides the inner one", fault.Wrap(notFound, fault.Conflict, "changed"), fault.NotFound, false},
		{"the outer code", fault.Wrap(notFound, fault.Conflict, "changed"), fault.Conflict, true},
		{"an error without a code", io.EOF, fault.NotFound, false},
		{"no error", nil, fault.NotFound, false},
		{"no error, no code", nil, "", false},
		{"a field", fault.InvalidField("name", "is too long"), fault.Invalid, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.Is(c.err, c.code); got != c.want {
				t.Errorf("Is(%v, %s) = %v, want %v", c.err, c.code, got, c.want)
			}
		})
	}
}

func TestMessageIsSafeToShow(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.7: secret")
	err := fault.Wrap(cause, fault.Unavailable, "try %s later", "a little")
	if got := err.Error(); got != "try a little later" {
		t.Errorf("the message is %q", got)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost to the logs")
	}
	if cause := errors.Unwrap(fault.New(fault.Invalid, "no")); cause != nil {
		t.Errorf("a new error has the cause %v", cause)
	}
}

func TestInvalidFieldNamesIt(t *testing.T) {
	t.Parallel()
	err := fault.InvalidField("met_on", "%q is no date", "soon")
	want := fault.Field{Name: "met_on", Message: `"soon" is no date`}
	if err.Code != fault.Invalid || len(err.Fields) != 1 || err.Fields[0] != want {
		t.Errorf("got %+v", err)
	}
	if err.Error() != `met_on: "soon" is no date` {
		t.Errorf("the message is %q", err.Error())
	}
}
