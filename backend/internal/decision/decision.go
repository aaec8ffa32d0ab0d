package decision

import (
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Path is the page on which members decide.
const Path = "/decide"

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
	// Lifetime is how long a member has to decide.
	Lifetime = 7 * 24 * time.Hour
	// MaxWaiting is how many waiting decisions a member can have.
	MaxWaiting = 100
	// keep is how long a decision is kept after it has expired.
	keep = 90 * 24 * time.Hour
)

// Decision is a call that waits or waited for the member's approval, and its row.
type Decision struct {
	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	// JobID and TaskID are the id and the number of its job.
	JobID  string
	TaskID int32
	// CredentialID and CredentialName identify the caller; Tool is the called tool.
	CredentialID, CredentialName, Tool string
	// Kinds are the kinds of acts that the call performs, separated by single spaces.
	Kinds string
	// Fingerprint is a hash of the arguments.
	Fingerprint string
	// Arguments are JSON. They and Preview are empty once the decision has ended.
	Arguments string
	Preview   Preview `bun:"type:text"`
	State     string
	// ChangeID is the change that the approved call recorded; empty for none.
	ChangeID  string `bun:",nullzero"`
	CreatedAt time.Time
	// ExpiresAt is the time until which it can be approved, DecidedAt when it left the state waiting.
	ExpiresAt time.Time
	DecidedAt time.Time `bun:",nullzero"`
	// JobState and JobError are those of the job; empty once the job is deleted. Only ListLast sets them.
	JobState, JobError string `bun:",scanonly"`
	// Changed is set if a target has changed since the agent asked, so that the approved call would
	// not be made. Only ListWaiting sets it.
	Changed bool `bun:"-"`
}

// Preview says what a call would do.
type Preview struct {
	// Summary says in one line what the call would do, such as "delete Ada Lovelace".
	Summary string `json:"summary"`
	// Effects are the first effects of the change that it would record; More is the number of
	// further ones.
	Effects []history.Effect `json:"effects,omitempty"`
	More    int              `json:"more,omitempty"`
	// People is the number of people that it would change.
	People int `json:"people,omitempty"`
	// Price is its cost in credits.
	Price int `json:"price,omitempty"`
	// Digest is a hash of what it would do to which objects, and of the states of these objects. The
	// approved call must have the same digest.
	Digest string `json:"digest"`
	// Targets are the first people whom it names or changes, as they were when the agent asked.
	Targets []Target `json:"targets,omitempty"`
}

// Target is a person in a state.
type Target struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Why are the kinds of acts that the call performs.
func (d *Decision) Why() []string { return strings.Fields(d.Kinds) }

// Waits reports whether a job is that of a call that waits for the member.
func Waits(j *job.Job) bool {
	return j.Kind == JobKind && j.State == job.Queued && !j.CancelRequested && j.RunAt.Equal(j.CreatedAt.Add(Lifetime))
}

// Outcome returns the state, or Failed if the job was abandoned.
func (d *Decision) Outcome() string {
	if d.State == Approved && d.JobState != "" && job.Terminal(d.JobState) {
		return Failed
	}
	return d.State
}

// Questions returns a sentence with the number of waiting decisions; empty for none.
func Questions(waiting int) string {
	switch waiting {
	case 0:
		return ""
	case 1:
		return "1 question waits for you"
	}
	return strconv.Itoa(waiting) + " questions wait for you"
}

// Error codes that tell an agent why its call was not executed.
const (
	CodeRefused   = "refused"
	CodeExpired   = "expired"
	CodeRevoked   = "access_ended"
	CodeChanged   = "changed_since"
	CodeCancelled = "cancelled"
)

// Ending returns the error of a job whose decision ended without executing the call; nil for
// other states.
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
