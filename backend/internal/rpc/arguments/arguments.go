package arguments

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/proto"
)

const (
	// maxProblems is how many problems of one call are reported.
	maxProblems = 30
	// maxText is the maximum length of a problem's text, in characters.
	maxText = 300
)

// Problem is one field that breaks a rule.
type Problem struct {
	// Path leads to the field; empty for a rule about the whole message.
	Path []*validate.FieldPathElement
	// Text is a sentence that names the field, without the full stop, of 300
	// characters at most.
	Text string
}

// Field is the path as callers write it, such as emails[1].
func (p Problem) Field() string {
	return protovalidate.FieldPathString(&validate.FieldPath{Elements: p.Path})
}

// Checker checks arguments. It is safe for concurrent use.
type Checker struct{ validator protovalidate.Validator }

// New returns a Checker.
func New() (*Checker, error) {
	v, err := protovalidate.New()
	return &Checker{validator: v}, err
}

// Check returns the problems of a message; nil when it is valid. today is the caller's
// day, YYYY-MM-DD, which problems with dates name. Words of closed sets are set to the spelling of the
// contract: child_of for "Child of".
func (c *Checker) Check(m proto.Message, today string) ([]Problem, error) {
	err := c.validator.Validate(m)
	var invalid *protovalidate.ValidationError
	if errors.As(err, &invalid) && readAsMeant(m.ProtoReflect(), invalid.Violations) {
		invalid, err = nil, c.validator.Validate(m)
	}
	if err == nil {
		return bounded(nuls(m.ProtoReflect())), nil
	}
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("check arguments: %w", err)
	}
	var problems []Problem
	known := map[string]int{}
	for _, v := range invalid.Violations {
		p := Problem{Path: v.Proto.GetField().GetElements()}
		p.Text = text.Truncate(sentence(p.Field(), m.ProtoReflect().Descriptor(), v, today), maxText-1)
		at, told := known[p.Field()]
		switch {
		case !told || len(p.Path) == 0:
			known[p.Field()] = len(problems)
			problems = append(problems, p)
		case v.Proto.GetRuleId() == "string.pattern": // says more than the field's length
			problems[at] = p
		}
	}
	return bounded(append(problems, nuls(m.ProtoReflect())...)), nil
}

// CheckJSON decodes a JSON text that protojson refuses into an empty message, and returns what is wrong
// with it: the values that cannot be decoded, and the rules that the rest breaks. Values that are
// written in another way than the contract says are read as they are meant: a list as JSON text, one
// value for a list of one, and null for an entry that is left out. today is as for Check.
func (c *Checker) CheckJSON(m proto.Message, data []byte, today string) ([]Problem, error) {
	problems := walkJSON(m.ProtoReflect(), data)
	broken, err := c.Check(m, today)
	if err != nil {
		return nil, err
	}
	for _, p := range broken {
		if !follows(p, problems) {
			problems = append(problems, p)
		}
	}
	return bounded(problems), nil
}

// follows reports whether a rule may be broken only because other fields could not be
// read: it is about one of them, about a list that contains one, or about the whole
// message.
func follows(p Problem, unread []Problem) bool {
	field := p.Field()
	return slices.ContainsFunc(unread, func(u Problem) bool {
		other := u.Field()
		return field == "" || field == other || strings.HasPrefix(field, other+".") || strings.HasPrefix(other, field+"[")
	})
}

// bounded drops the problems that are too many for one answer.
func bounded(problems []Problem) []Problem {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], Problem{Text: fmt.Sprintf("and %d more problems", more)})
	}
	return problems
}
