package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/kith-crm/kith/sandbox"
)

// stage holds the databases and processes of a section.
type stage struct {
	bench  *bench
	name   string
	engine string

	databases []*database
	processes []*process
	// after is called after the last round; it may be nil.
	after func() error
}

// service is a running Kith with its database.
type service struct {
	*process

	variant variant
	data    *database
	behind  *process // the backend of an edge
}

// figure reports a figure of the stage's database.
func (s *stage) figure(what string, value float64, unit string, aim float64) {
	s.bench.report.figure(s.engine+": "+what, value, unit, aim)
}

// empty starts a Kith on a new database.
func (s *stage) empty(ctx context.Context, name string, v variant) (*service, error) {
	d, err := s.bench.create(ctx, s.engine, s.name+"-"+name)
	if err != nil {
		return nil, err
	}
	s.databases = append(s.databases, d)
	k := &service{process: &process{}, variant: v, data: d}
	return k, errors.Join(d.open(), s.start(ctx, k))
}

// kith starts a Kith on a new database with these accounts. The people of an account's first member are imported
// as the member would, so that the service's derived data is right, and copied for the others.
func (s *stage) kith(ctx context.Context, name string, v variant, list ...accounts) (*service, error) {
	// A first start creates the tables. It stops before they are filled, so that no
	// service has query plans for empty tables.
	k, err := s.empty(ctx, name, v)
	if err != nil {
		return nil, err
	}
	k.stop()
	d := k.data
	for _, a := range list {
		err = errors.Join(err, a.fill(ctx, d))
	}
	if err := errors.Join(err, d.settle(ctx), s.start(ctx, k)); err != nil {
		return nil, fmt.Errorf("fill the database: %w", err)
	}
	if !slices.ContainsFunc(list, func(a accounts) bool { return len(a.people) > 0 }) {
		return k, nil
	}
	for _, a := range list {
		first := 0
		for part := range slices.Chunk(a.people, 10_000) {
			if err := k.load(a.bearer(0, 0), document(part, first, time.Now().UTC())); err != nil {
				return nil, err
			}
			first += len(part)
		}
	}
	k.stop()
	for _, a := range list {
		if len(a.people) > 0 {
			err = errors.Join(err, a.identify(ctx, d), a.copy(ctx, d))
		}
	}
	if err := errors.Join(err, d.settle(ctx)); err != nil {
		return nil, fmt.Errorf("copy the people: %w", err)
	}
	return k, s.start(ctx, k)
}

// start starts a service that is stopped.
func (s *stage) start(ctx context.Context, k *service) error {
	p, err := s.bench.serve(ctx, k.data.name, k.data.url, k.variant)
	if err != nil {
		return err
	}
	*k.process = *p
	if !slices.Contains(s.processes, k.process) {
		s.processes = append(s.processes, k.process)
	}
	return nil
}

// load imports a document and waits for the end of the job.
func (k *service) load(bearer string, d sandbox.Document) error {
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	entry, err := archive.Create("contacts.json")
	if err := errors.Join(err, json.NewEncoder(entry).Encode(d), archive.Close()); err != nil {
		return err
	}
	var started struct {
		Task int `json:"task_id"`
	}
	next := tool(bearer, "import_file", fmt.Sprintf(`{"format":"json","content_base64":%q}`, base64.StdEncoding.EncodeToString(file.Bytes())), succeeded)
	if err := k.decode(next, &started); err != nil {
		return err
	}
	return k.await(bearer, started.Task)
}

// await waits until a job has ended, and fails unless it succeeded.
func (k *service) await(bearer string, task int) error {
	for {
		var got struct {
			Job struct {
				Terminal bool
				State    string
				Error    any
			}
		}
		if err := k.decode(tool(bearer, "get_job", fmt.Sprintf(`{"task_id":%d,"wait_seconds":10}`, task), succeeded), &got); err != nil {
			return err
		}
		if got.Job.Terminal {
			if got.Job.State != "succeeded" && got.Job.State != "cancelled" {
				return fmt.Errorf("job %d: %s: %v", task, got.Job.State, got.Job.Error)
			}
			return nil
		}
	}
}

// succeeded is in the answer of a tool call that succeeded.
const succeeded = `"isError":false`

// decode makes a tool call and decodes its structured answer.
func (k *service) decode(next call, into any) error {
	next.keep = func(body []byte) error { return structured(body, into) }
	_, _, err := next.send(k.addr)
	return err
}

// structured decodes the structured content of a tool's answer.
func structured(body []byte, into any) error {
	var answer struct {
		Result struct {
			Content json.RawMessage `json:"structuredContent"`
		}
	}
	return errors.Join(json.Unmarshal(body, &answer), json.Unmarshal(answer.Result.Content, into))
}

// retry repeats a call until it succeeds: on a busy machine the first search of a large network may
// exceed the service's timeout.
func (k *service) retry(ctx context.Context, first call) error {
	for {
		_, _, err := first.send(k.addr)
		if err == nil || ctx.Err() != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: not yet: %.100s\n", k.data.name, err)
		pause(ctx, time.Second)
	}
}

// used returns the processor time of the service and of its database so far.
func (k *service) used() (usage, error) {
	u, err := k.process.used()
	if err == nil && k.behind != nil {
		var behind usage
		behind, err = k.behind.used()
		u.service += behind.service
	}
	if err == nil {
		u.database, err = k.data.used()
	}
	return u, err
}

// asks returns a target of the service.
func (k *service) asks(name string, next func(n int) call) *target {
	return &target{name: name, addr: k.addr, used: k.used, next: next, ready: callers + 1}
}

func (s *stage) end() {
	for _, p := range s.processes {
		p.stop()
	}
	for _, d := range s.databases {
		if err := d.drop(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
}
