package tenant

import (
	"slices"
	"strconv"
	"strings"
)

// DefaultAbove is how many people a call may change, unless the member chose a number, before
// it is an act of the kind bulk. MaxAbove is the largest number to choose.
const (
	DefaultAbove = 10
	MaxAbove     = 10_000
)

// ApprovalPolicy says which acts of a credential need the member's approval. The zero value means none.
type ApprovalPolicy struct {
	// Acts are kinds of acts, as package catalog names them.
	Acts []string
	// Above is how many people a call may change before it is an act of the kind bulk.
	Above int
}

// bulkAct is the kind of act that has a number.
const bulkAct = "bulk"

// ParseAsks reads what String wrote.
func ParseAsks(stored string) ApprovalPolicy {
	a := ApprovalPolicy{Above: DefaultAbove}
	for word := range strings.FieldsSeq(stored) {
		act, number, _ := strings.Cut(word, "=")
		a.Acts = append(a.Acts, act)
		if above, err := strconv.Atoi(number); err == nil {
			a.Above = above
		}
	}
	return a
}

// String returns the stored form: the kinds, separated by single spaces, with the number of
// bulk, such as "delete bulk=10".
func (a ApprovalPolicy) String() string {
	words := slices.Clone(a.Acts)
	for i, act := range words {
		if act == bulkAct {
			words[i] = act + "=" + strconv.Itoa(a.Above)
		}
	}
	return strings.Join(words, " ")
}

// Before reports whether acts of a kind need the member's approval.
func (a ApprovalPolicy) Before(act string) bool { return slices.Contains(a.Acts, act) }
