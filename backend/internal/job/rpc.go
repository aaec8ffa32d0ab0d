package job

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	jobsv1 "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// Jobs is the connection to the workers of the queue.
type Jobs interface {
	// Wake makes the workers check the queue now.
	Wake()
	// Watch returns a channel that is closed at the job's next change in this process,
	// until stop is called.
	Watch(owner tenant.ID, number int32) (changed <-chan struct{}, stop func())
}

// jobObject is the value of the field "object" of a job.
const jobObject = "job"

// pathJobs is where the edge serves jobs over plain HTTP.
const pathJobs = "/api/jobs/"

// otherProcesses is how often to read a job that another process may be running.
const otherProcesses = time.Second

// RPC implements the RPCs of jobs.
type RPC struct {
	DB      *db.DB
	Jobs    Jobs
	BaseURL string
	Now     func() time.Time
	// Tools are the tools that start jobs, by the kind of the job. A job of another kind belongs to
	// the tool that started it.
	Tools map[string]string
	// Waits reports whether a job waits for the member, and until its RunAt; they decide on DecidePath.
	Waits      func(j *Job) bool
	DecidePath string
	// Next suggests the next calls after a job, by the kind of the job.
	Next map[string]Next
	// Cancel is called before a job is cancelled.
	Cancel Cancel
}

// Next returns the calls to suggest after a job has ended.
type Next func(ctx context.Context, ended *Job) []*toolv1.NextCall

// GetJob implements the RPC.
func (h *RPC) GetJob(ctx context.Context, req *jobsv1.GetJobRequest) (*jobsv1.GetJobResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	wait := time.NewTimer(time.Duration(req.GetWaitSeconds()) * time.Second)
	defer wait.Stop()
	for {
		changed, stop := h.Jobs.Watch(p.Tenant, req.GetTaskId())
		j, err := GetJob(ctx, data, req.GetTaskId())
		if err != nil || j.Terminal() || req.GetWaitSeconds() == 0 || !h.await(ctx, changed, wait.C) {
			stop()
			return h.answer(ctx, j, err)
		}
		stop()
	}
}

// await waits for a change of the job, and reports whether to read it again.
func (h *RPC) await(ctx context.Context, changed <-chan struct{}, end <-chan time.Time) bool {
	other := time.NewTimer(otherProcesses)
	defer other.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-end:
		return false
	case <-changed:
	case <-other.C:
	}
	return true
}

func (h *RPC) answer(ctx context.Context, j *Job, err error) (*jobsv1.GetJobResponse, error) {
	if err != nil {
		return nil, err
	}
	message, err := h.message(ctx, j)
	return &jobsv1.GetJobResponse{Job: message, Next: h.next(ctx, j)}, err
}

// next returns the calls to suggest after reading a job.
func (h *RPC) next(ctx context.Context, j *Job) []*toolv1.NextCall {
	if h.waits(j) {
		return nil
	}
	if !j.Terminal() {
		return Wait(ctx, j.Number)
	}
	if after := h.Next[j.Kind]; after != nil && h.shows(ctx, j) {
		return after(ctx, j)
	}
	return nil
}

// Wait returns the call that waits for a job, for the field next of an answer.
func Wait(ctx context.Context, number int32) []*toolv1.NextCall {
	return call.Next(ctx, "get_job", map[string]any{"task_id": number, "wait_seconds": LongestWait})
}

// LongestWait is the most seconds that get_job waits.
const LongestWait = 20

// CancelJob implements the RPC.
func (h *RPC) CancelJob(ctx context.Context, u *db.Tx, req *jobsv1.CancelJobRequest) (*jobsv1.CancelJobResponse, error) {
	j, err := CancelJob(ctx, u, req.GetTaskId(), h.Cancel)
	if err != nil {
		return nil, err
	}
	message, err := h.message(ctx, j)
	return &jobsv1.CancelJobResponse{Job: message, Next: h.next(ctx, j)}, err
}

// waitsForMember is how often to read a job that waits for the member.
const waitsForMember = time.Minute

func (h *RPC) waits(j *Job) bool { return h.Waits != nil && h.Waits(j) }

// shows reports whether the caller may call the tool of a job. Others learn the job's state and
// progress, but not its result or error, which may name people.
func (h *RPC) shows(ctx context.Context, j *Job) bool {
	return call.Allows(ctx, cmp.Or(h.Tools[j.Kind], j.Tool))
}

func (h *RPC) message(ctx context.Context, j *Job) (*jobsv1.Job, error) {
	m := &jobsv1.Job{
		Object: jobObject, JobId: j.Number, Kind: j.Kind, State: j.State, Terminal: new(j.Terminal()),
		Progress:   &jobsv1.JobProgress{Done: new(int32(j.Done)), Total: new(int32(j.Total))},
		RetryAfter: new(int32(j.RetryAfter(h.Now()).Seconds())),
		Poll:       h.BaseURL + pathJobs + strconv.Itoa(int(j.Number)),
		CreatedAt:  call.Timestamp(j.CreatedAt), UpdatedAt: call.Timestamp(j.UpdatedAt),
	}
	if h.waits(j) {
		m.WaitingForMember, m.DecideUrl, m.ExpiresAt = new(true), new(h.BaseURL+h.DecidePath), call.Timestamp(j.RunAt)
		m.RetryAfter = new(int32(waitsForMember.Seconds()))
	}
	if !h.shows(ctx, j) {
		return m, nil
	}
	if j.Result != "" {
		result := &structpb.Struct{}
		if err := protojson.Unmarshal([]byte(j.Result), result); err != nil {
			return nil, fmt.Errorf("read the result of job %s: %w", j.ID, err)
		}
		if j.State == Succeeded {
			m.Result = result
		} else if left := result.GetFields()["import_id"].GetStringValue(); left != "" {
			m.ImportId = &left
		}
	}
	if j.State == Failed {
		m.Error = &jobsv1.JobError{Code: j.ErrorCode, Detail: text.Truncate(j.ErrorDetail, maxDetail)}
	}
	return m, nil
}

// maxDetail bounds the detail of a failure, in characters.
const maxDetail = 500
