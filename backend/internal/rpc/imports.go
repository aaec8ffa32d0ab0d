package rpc

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/text"
	importsv1 "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
)

// maxInline is how large a file may be that is passed with the call, in bytes.
const maxInline = 1 << 20

// inlineName is the name of a file that came without one.
const inlineName = "a file"

type importTools struct{ jobs Jobs }

// ImportFile implements the RPC.
func (h *importTools) ImportFile(ctx context.Context, req *importsv1.ImportFileRequest) (*importsv1.ImportFileResponse, error) {
	u, err := unitFrom(ctx)
	if err != nil {
		return nil, err
	}
	file, err := inlineFile(req)
	if err != nil {
		return nil, err
	}
	j, started, err := importer.Start(ctx, u, importer.Request{
		File: file, UploadID: req.GetUploadId(), Price: priceOf(ctx),
		Options: importer.Options{
			Format: req.GetFormat(), Charset: req.GetCharset(), DefaultRegion: req.GetDefaultRegion(),
			OnMatch: req.GetOnMatch(), DryRun: req.GetDryRun(), Tags: lines(req.GetTags()),
		},
	})
	if err != nil {
		return nil, err
	}
	if started {
		afterCommit(ctx, h.jobs.Wake)
	} else {
		waive(ctx)
	}
	return &importsv1.ImportFileResponse{TaskId: j.Number}, nil
}

// lines returns texts as they may be stored.
func lines(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, s := range texts {
		if s = text.Line(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// inlineFile returns the file that came with the call, or nil.
func inlineFile(req *importsv1.ImportFileRequest) (*importer.File, error) {
	name := text.Line(req.GetFilename())
	if name == "" {
		name = inlineName
	}
	switch {
	case req.Content != nil:
		if len(req.GetContent()) > maxInline {
			return nil, tooLarge("content")
		}
		return importer.NewFile(name, []byte(req.GetContent())), nil
	case req.ContentBase64 != nil:
		content, err := decodeBase64(req.GetContentBase64())
		if err != nil {
			return nil, fault.InvalidField("content_base64", "is not base64")
		}
		if len(content) > maxInline {
			return nil, tooLarge("content_base64")
		}
		return importer.NewFile(name, content), nil
	}
	return nil, nil
}

func tooLarge(field string) error {
	return fault.InvalidField(field, "holds more than 1 MiB; have the member upload the file on the settings page, under Imports, and pass its upload_id")
}

// decodeBase64 takes both alphabets, with or without padding, and line breaks.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\r", "", "\n", "", " ", "", "-", "+", "_", "/", "=", "").Replace(s)
	return base64.RawStdEncoding.DecodeString(s)
}
