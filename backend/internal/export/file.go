package export

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
)

// JobKind is the kind of job that makes a file of people.
const JobKind = "export"

// PathFiles is the path of the page that serves files; the id of the job follows.
const PathFiles = "/settings/exports/"

// FileLifetime is how long after the end of its job a file can be downloaded.
const FileLifetime = time.Hour

// File is a file of people and the parameters of its job. Its content is not stored: it is
// written from the stored data whenever it is read.
type File struct {
	// Format is the format of a Writer.
	Format string `json:"format"`
	// IDs are its people; empty for all who are not archived.
	IDs []string `json:"ids,omitempty"`
}

// MediaType returns the media type of the content.
func (f File) MediaType() string { return mediaTypeOf(f.Format) }

// Name returns the name of the file on a day.
func (f File) Name(day time.Time) string {
	ending := map[string]string{VCard: "vcf", VCard3: "vcf", JSContact: "jscontact.json"}[f.Format]
	if ending == "" {
		ending = f.Format
	}
	return "kith-people-" + day.UTC().Format(time.DateOnly) + "." + ending
}

// Count returns how many people are in the file.
func (f File) Count(ctx context.Context, t *db.Tenant) (count int, err error) {
	if len(f.IDs) > 0 {
		return len(f.IDs), nil
	}
	err = t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		n, err := q.From((*people.Connection)(nil)).Where(liveOr(false)).Count(ctx)
		count = int(n)
		return err
	})
	return count, err
}

// Write writes the content page by page, and returns how many people are in it. People who
// were deleted since the file was asked for are left out, and so are those who were archived,
// unless the file is of chosen people.
func (f File) Write(ctx context.Context, t *db.Tenant, out io.Writer) (count int, err error) {
	return f.write(ctx, t, out, f.Format == JSON || f.Format == VCard || f.Format == VCard3)
}

// write is Write, with or without photos.
func (f File) write(ctx context.Context, t *db.Tenant, out io.Writer, withPhotos bool) (count int, err error) {
	w, err := NewWriter(f.Format, out)
	if err != nil {
		return 0, err
	}
	add := func(filter PeopleFilter) error {
		filter.Limit, filter.Timeline, filter.Photos, filter.Present = exportPage, f.Format == JSON, withPhotos, true
		for {
			page, more, err := ListPeople(ctx, t, filter)
			if err != nil {
				return err
			}
			if err := w.Add(page); err != nil {
				return err
			}
			count += len(page.People)
			if !more {
				return nil
			}
			filter.After = page.LastPlace()
		}
	}
	if len(f.IDs) == 0 {
		err = add(PeopleFilter{})
	}
	for ids := range slices.Chunk(f.IDs, exportPage) {
		if err == nil {
			err = add(PeopleFilter{IDs: ids})
		}
	}
	if err != nil {
		return 0, err
	}
	return count, w.Close()
}

// Made is the result of the job.
type Made struct {
	// DownloadURL serves the file until ExpiresAt, to the member's browser and to a bearer
	// with the scope connections.
	DownloadURL string    `json:"download_url"`
	ExpiresAt   time.Time `json:"expires_at"`
	Format      string    `json:"format"`
	MediaType   string    `json:"media_type"`
	// Count is how many people are in the file, Bytes its size.
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

// Kind returns the kind of job that makes files. It writes the file once, to check that it can be
// written and to learn its size.
func Kind(s *db.DB, baseURL string, now func() time.Time) job.Kind {
	return job.Kind{Name: JobKind, Run: func(ctx context.Context, run *job.Run) (any, error) {
		var f File
		if err := run.Params(&f); err != nil {
			return nil, err
		}
		out := &counted{Writer: io.Discard}
		count, err := f.Write(ctx, s.Tenant(run.Job.TenantID, false), out)
		if err != nil {
			return nil, err
		}
		return Made{
			DownloadURL: baseURL + PathFiles + run.Job.ID, ExpiresAt: now().Add(FileLifetime).UTC().Truncate(time.Second),
			Format: f.Format, MediaType: f.MediaType(), Count: count, Bytes: out.n,
		}, nil
	}}
}

// FindFile returns the file of a job of the tenant. It fails with fault.NotFound when there
// is none, or when it can no longer be downloaded.
func FindFile(ctx context.Context, t *db.Tenant, jobID string) (f File, err error) {
	err = t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		j, err := job.Find(ctx, q, JobKind, jobID)
		if err != nil {
			return err
		}
		if j.State != job.Succeeded || q.Now().Sub(j.EndedAt) >= FileLifetime {
			return fault.New(fault.NotFound, "job %s has no file, or the file has expired", jobID)
		}
		return (&job.Run{Job: *j}).Params(&f)
	})
	return f, err
}
