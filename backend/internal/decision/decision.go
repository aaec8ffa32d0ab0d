package decision

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
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
	// Import is what an import would do, as importer.Asked.
	Import json.RawMessage `json:"import,omitempty"`
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

// Call is a call that needs approval.
type Call struct {
	// Fingerprint is a hash of the arguments, Arguments the arguments as JSON.
	Fingerprint, Arguments string
	Kinds                  string
	Preview                Preview
}

// Find returns the waiting decision about the same call of the same credential, or nil.
func Find(ctx context.Context, tx *db.Tx, fingerprint string) (*Decision, error) {
	d := &Decision{}
	err := tx.From(d).Where("state = ?", Waiting).Where("expires_at > ?", tx.Now()).Where("credential_id = ? AND tool = ? AND fingerprint = ?",
		tx.Actor().CredentialID, tx.Actor().Tool, fingerprint).Limit(1).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return d, err
}

// Ask stores a decision and its job, or returns the waiting decision about the same call. first is
// set if the member has no other waiting decision. It fails with fault.Conflict if too many wait.
func Ask(ctx context.Context, tx *db.Tx, c Call) (d *Decision, first bool, err error) {
	if d, err = Find(ctx, tx, c.Fingerprint); d != nil || err != nil {
		return d, false, err
	}
	waiting, err := countWaiting(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	if waiting >= MaxWaiting {
		return nil, false, fault.New(fault.Conflict, "%d calls wait for the member's decision, and no more can: ask them to decide on /decide", waiting)
	}
	if c.Preview.Targets, err = readTargets(ctx, tx, peopleIn(c.Preview.Effects)); err != nil {
		return nil, false, err
	}
	expires := tx.Now().Add(Lifetime)
	j, err := job.AddJob(ctx, tx, job.Draft{Kind: JobKind, Params: struct{}{}, RunAt: expires})
	if err != nil {
		return nil, false, err
	}
	d = &Decision{
		ID: id.New(id.Decision), TenantID: tx.TenantID(), JobID: j.ID, TaskID: j.Number, CredentialID: j.CredentialID, CredentialName: j.CredentialName, Tool: j.Tool,
		Kinds: c.Kinds, Fingerprint: c.Fingerprint, Arguments: c.Arguments, Preview: c.Preview, State: Waiting,
		CreatedAt: tx.Now(), ExpiresAt: expires,
	}
	_, err = tx.NewInsert().Model(d).Exec(ctx)
	return d, waiting == 0, err
}

// AskAgain ends an approved decision, because what its call would do has changed since the member
// was asked, and asks about the call as it is now. It reports false if the decision is no longer
// approved.
func AskAgain(ctx context.Context, tx *db.Tx, d *Decision, kinds []string, p Preview) (again *Decision, moved bool, err error) {
	if moved, err = End(ctx, tx, d, Failed, ""); err != nil || !moved {
		return nil, moved, err
	}
	p.Price = d.Preview.Price
	again, _, err = Ask(ctx, tx, Call{Fingerprint: d.Fingerprint, Arguments: d.Arguments, Kinds: strings.Join(kinds, " "), Preview: p})
	return again, true, err
}

// Decide approves or refuses a waiting call, and makes its job due. It fails with fault.NotFound
// if there is no such decision, and with fault.Conflict if it has ended or expired.
func Decide(ctx context.Context, tx *db.Tx, decisionID string, approve bool) (*Decision, error) {
	d, err := get(ctx, tx, "id = ?", decisionID)
	if err != nil {
		return nil, err
	}
	to := Refused
	if approve {
		to = Approved
	}
	if !d.ExpiresAt.After(tx.Now()) {
		return nil, fault.New(fault.Conflict, "the decision has expired")
	}
	moved, err := d.move(ctx, tx, Waiting, to)
	if err == nil && !moved {
		err = fault.New(fault.Conflict, "the decision was made already")
	}
	if err != nil {
		return nil, err
	}
	d.State = to
	_, err = tx.NewRaw("UPDATE jobs SET run_at = ?, updated_at = ? WHERE tenant_id = ? AND id = ? AND state = ?",
		tx.Now(), tx.Now(), tx.TenantID(), d.JobID, job.Queued).Exec(ctx)
	return d, err
}

// move changes the state of a decision, and reports whether it was in the expected state. It deletes
// the arguments and the preview unless the call is still to be executed.
func (d *Decision) move(ctx context.Context, tx *db.Tx, from, to string) (bool, error) {
	result, err := tx.NewRaw(`UPDATE decisions SET state = ?0, decided_at = coalesce(decided_at, ?1),
arguments = CASE WHEN ?2 THEN arguments ELSE '' END, preview = CASE WHEN ?2 THEN preview ELSE '{}' END
WHERE tenant_id = ?3 AND id = ?4 AND state = ?5`, to, tx.Now(), to == Approved, tx.TenantID(), d.ID, from).Exec(ctx)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Get returns a decision of the member, or fails with fault.NotFound.
func Get(ctx context.Context, q db.Reader, decisionID string) (*Decision, error) {
	d, err := get(ctx, q, "id = ?", decisionID)
	return d, err
}

// OfJob returns the decision of a job, or fails with fault.NotFound.
func OfJob(ctx context.Context, q db.Reader, jobID string) (*Decision, error) {
	d, err := get(ctx, q, "job_id = ?", jobID)
	return d, err
}

func get(ctx context.Context, q db.Reader, condition, value string) (*Decision, error) {
	d := &Decision{}
	err := q.From(d).Where(condition, value).Scan(ctx)
	return db.Found(d, err, "there is no such decision")
}

// End ends a decision and stores the recorded change; empty for none. It reports false if the
// decision is no longer in the state in which it was read.
func End(ctx context.Context, tx *db.Tx, d *Decision, to, changeID string) (bool, error) {
	moved, err := d.move(ctx, tx, d.State, to)
	if err != nil || !moved || changeID == "" {
		return moved, err
	}
	_, err = tx.NewRaw("UPDATE decisions SET change_id = ? WHERE tenant_id = ? AND id = ?", changeID, tx.TenantID(), d.ID).Exec(ctx)
	return true, err
}

// Cancel implements job.Cancel: it ends the decision of a job. It ignores jobs of other kinds.
func Cancel(ctx context.Context, tx *db.Tx, j *job.Job) (bool, error) {
	if j.Kind != JobKind {
		return true, nil
	}
	d, err := OfJob(ctx, tx, j.ID)
	if err != nil || d.State != Waiting && d.State != Approved {
		return false, err
	}
	return d.move(ctx, tx, d.State, Cancelled)
}

// List returns all decisions, the oldest first.
func List(ctx context.Context, q db.Reader) ([]Decision, error) {
	var all []Decision
	err := q.From(&all).Order("task_id").Scan(ctx)
	return all, err
}

// ListWaiting returns the waiting decisions that have not expired, the oldest first. Their summaries
// have the present names of people.
func ListWaiting(ctx context.Context, q db.Reader) ([]Decision, error) {
	var waiting []Decision
	err := q.From(&waiting).Where("state = ?", Waiting).Where("expires_at > ?", q.Now()).Order("task_id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, d := range waiting {
		for _, t := range d.Preview.Targets {
			ids = append(ids, t.ID)
		}
	}
	slices.Sort(ids)
	present, err := readTargets(ctx, q, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	byID := map[string]Target{}
	for _, t := range present {
		byID[t.ID] = t
	}
	for i := range waiting {
		waiting[i].refresh(byID)
	}
	return waiting, nil
}

// refresh puts the present names of the targets into the summary, and notes whether one of them has
// changed.
func (d *Decision) refresh(present map[string]Target) {
	renamed := map[string]string{}
	for _, was := range d.Preview.Targets {
		is, found := present[was.ID]
		d.Changed = d.Changed || !found || is.Version != was.Version
		if found && is.Name != was.Name {
			renamed[was.Name] = is.Name
		}
	}
	// Longer names first: a name may begin with another one.
	names := slices.SortedFunc(maps.Keys(renamed), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name, renamed[name])
	}
	d.Preview.Summary = strings.NewReplacer(pairs...).Replace(d.Preview.Summary)
}

// peopleIn returns the ids of the people whom effects are about, in order.
func peopleIn(effects []history.Effect) []string {
	var ids []string
	for _, e := range effects {
		if id.Valid(id.Connection, e.ID) {
			ids = append(ids, e.ID)
		}
		for _, recorded := range []json.RawMessage{e.Before, e.After} {
			var state map[string]any
			if json.Unmarshal(recorded, &state) != nil {
				continue
			}
			for _, value := range state {
				if one, _ := value.(string); id.Valid(id.Connection, one) {
					ids = append(ids, one)
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ListLast returns the decisions that have ended or expired, the latest first.
func ListLast(ctx context.Context, q db.Reader, limit int) ([]Decision, error) {
	var last []Decision
	err := q.From(&last).ColumnExpr("?TableColumns").ColumnExpr("j.state AS job_state, j.error_detail AS job_error").
		Join("LEFT JOIN jobs AS j ON j.tenant_id = ?TableAlias.tenant_id AND j.id = ?TableAlias.job_id").
		Where("(?TableAlias.state <> ? OR ?TableAlias.expires_at <= ?)", Waiting, q.Now()).
		OrderExpr("coalesce(?TableAlias.decided_at, ?TableAlias.expires_at) DESC, ?TableAlias.task_id DESC").Limit(int64(limit)).Scan(ctx)
	return last, err
}

// Sweep deletes decisions that expired by a time.
const Sweep = "DELETE FROM decisions WHERE expires_at <= ?"

// SweepBefore returns the time to pass to Sweep.
func SweepBefore(now time.Time) time.Time { return now.Add(-keep) }

// countWaiting returns the number of waiting decisions.
func countWaiting(ctx context.Context, q db.Reader) (int, error) {
	n, err := q.From((*Decision)(nil)).Where("state = ?", Waiting).Where("expires_at > ?", q.Now()).Count(ctx)
	return int(n), err
}
