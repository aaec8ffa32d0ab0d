package importer

import (
	"context"
	"errors"

	"github.com/kith-crm/kith/backend/internal/job"
)

// deleteFile deletes the file of an import. The upload of a dry run is kept for the real import.
func (im *fileImport) deleteFile(ctx context.Context) error {
	if im.params.Options.DryRun && im.params.Uploaded {
		return nil
	}
	err := im.step(ctx, checkpoint{Phase: phaseDone, Report: im.at.Report}, func(ctx context.Context, s *step) error {
		return DeleteFile(ctx, s.tx, im.params.FileID)
	})
	if errors.Is(err, job.ErrYield) {
		return nil
	}
	return err
}

// explain adds to a failure how many rows stay imported.
func (im *fileImport) explain(err error) error {
	var failure *job.Failure
	if !errors.As(err, &failure) || im.at.Report.Created+im.at.Report.Updated == 0 || im.params.Options.DryRun {
		return err
	}
	return job.Fail(failure.Code, "%s %d rows are imported; undo_change with the import_id %s takes them back.",
		failure.Detail, im.at.Report.Total-im.at.Report.Failed, im.params.ImportID)
}
