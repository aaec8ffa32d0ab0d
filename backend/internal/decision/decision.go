package decision

import (
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// JobKind is the kind of the jobs of decisions.
const JobKind = "decision"

// The states of a decision.
const (
	Waiting   = "waiting"
	Approved  = "approved"
	Done      = "done"
	Failed    = "failed"
	Refused   = "refused"
	Expired   = "expired"
	Cancelled = "cancelled"
)

const (
	// Lifetime is how long a decision can be made.
	Lifetime = 7 * 24 * time.Hour
	// MaxWaiting is how many decisions of a member can wait.
	MaxWaiting = 100
	// keep is how long a decision is kept after it could be made.
	keep = 90 * 24 * time.Hour
)

// Decision is a call that the member is asked about first, and its row.
type Decision struct {
	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	// JobID and TaskID are the id and the number of its job.
	JobID  string
	TaskID int32
	// CredentialID, CredentialName and Tool are who called what.
	CredentialID, CredentialName, Tool string
	// Kinds are the kinds of acts that the call is, separated by single spaces.
	Kinds string
	// Fingerprint is a hash of the arguments.
	Fingerprint string
	// Arguments are JSON. They and Preview are empty once the decision has ended.
	Arguments string
	Preview   Preview `bun:"type:text"`
	State     string
	// ChangeID is the change that was made once it was approved; empty for none.
	ChangeID  string `bun:",nullzero"`
	CreatedAt time.Time
	// ExpiresAt is until when it can be approved, DecidedAt when it left the state waiting.
	ExpiresAt time.Time
	DecidedAt time.Time `bun:",nullzero"`
	// JobState and JobError are of the job; empty once that is deleted. Only ListLast reads them.
	JobState, JobError string `bun:",scanonly"`
}

// Preview is what a call would do.
type Preview struct {
	// Summary is one line.
	Summary string `json:"summary"`
	// Effects are the first effects of the change that it would record, More is how many
	// more there are.
	Effects []history.Effect `json:"effects,omitempty"`
	More    int              `json:"more,omitempty"`
	// People is how many people it would change.
	People int `json:"people,omitempty"`
	// Price is what it would cost, in credits.
	Price int `json:"price,omitempty"`
	// Digest is a hash of whom it would change and what it would delete. What is done must
	// have the same one.
	Digest string `json:"digest"`
}

// Why are the kinds of acts that the call is.
func (d *Decision) Why() []string { return strings.Fields(d.Kinds) }

// Outcome is the state, but for a decision whose job was given up: that is Failed.
func (d *Decision) Outcome() string {
	if d.State == Approved && d.JobState != "" && job.Terminal(d.JobState) {
		return Failed
	}
	return d.State
}

// Questions says how many decisions wait, in words; empty for none.
func Questions(waiting int) string {
	switch waiting {
	case 0:
		return ""
	case 1:
		return "1 question waits for you"
	}
	return strconv.Itoa(waiting) + " questions wait for you"
}

// Codes of failures that tell an agent why its call was not done.
const (
	CodeRefused   = "refused"
	CodeExpired   = "expired"
	CodeRevoked   = "access_ended"
	CodeChanged   = "changed_since"
	CodeCancelled = "cancelled"
)

// Ending returns the failure of the job of a decision that ended without a call; nil for other
// states.
func Ending(state string) error {
	switch state {
	case Refused:
		return job.Fail(CodeRefused, "The member refused it. Nothing was done or charged. Do not ask again unless they tell you to.")
	case Expired:
		return job.Fail(CodeExpired, "The member did not decide within 7 days. Nothing was done or charged. Ask them before you call again.")
	case Cancelled:
		return job.Fail(CodeRevoked, "The access of the agent that asked has ended. Nothing was done or charged.")
	}
	return nil
}
