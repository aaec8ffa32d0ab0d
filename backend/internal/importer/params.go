package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// JobKind is the kind of the job that imports a file.
const JobKind = "file_import"

// MaxFile is how large a file may be, in bytes.
const MaxFile = source.MaxBytes

// What to do with people who are on file.
const (
	OnMatchSkip       = "skip"
	OnMatchFillBlanks = "fill_blanks"
	OnMatchOverwrite  = "overwrite"
)

// File is a file that a member brought, and its row.
type File struct {
	TenantID  tenant.ID `bun:",pk"`
	ID        string    `bun:",pk"`
	Name      string
	Sha256    string
	Size      int
	Content   []byte
	ImportID  string // the import that reads it; empty for an upload that waits
	CreatedAt time.Time
}

// NewFile returns a file with a name and a content.
func NewFile(name string, content []byte) *File {
	sum := sha256.Sum256(content)
	return &File{Name: name, Sha256: hex.EncodeToString(sum[:]), Size: len(content), Content: content}
}

// Options say how a file is to be read and what becomes of its people.
type Options struct {
	Format        string   `json:"format,omitempty"`
	Charset       string   `json:"charset,omitempty"`
	DefaultRegion string   `json:"default_region,omitempty"`
	OnMatch       string   `json:"on_match,omitempty"`
	DryRun        bool     `json:"dry_run,omitempty"`
	Tags          []string `json:"tags,omitempty"`
}

// Params are the parameters of a job.
type Params struct {
	ImportID string `json:"import_id"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Sha256   string `json:"sha256"`
	Options  Options
	// Uploaded files outlive a dry run.
	Uploaded bool `json:"uploaded,omitempty"`
	// Free imports cost nothing for their rows.
	Free bool `json:"free,omitempty"`
}

// Normal returns the options with their defaults written out.
func (o Options) Normal() Options {
	const auto = "auto"
	if o.Format == auto {
		o.Format = ""
	}
	if o.OnMatch == "" {
		o.OnMatch = OnMatchFillBlanks
	}
	o.Charset, o.DefaultRegion = strings.ToLower(o.Charset), strings.ToUpper(o.DefaultRegion)
	return o
}

// SameWork tells whether both imports would do the same: one file, one way.
func (p Params) SameWork(other Params) bool {
	a, b := p.Options.Normal(), other.Options.Normal()
	tags := slices.Equal(a.Tags, b.Tags)
	a.Tags, b.Tags = nil, nil
	one, errOne := json.Marshal(a)
	two, errTwo := json.Marshal(b)
	return tags && errOne == nil && errTwo == nil && bytes.Equal(one, two) && p.Sha256 == other.Sha256
}

// Open reads a file as the options say, or fails with fault.Invalid.
func Open(content []byte, filename string, o Options) (*source.File, error) {
	return source.Open(content, source.Options{
		Filename: filename, Format: o.Format, Charset: o.Charset, DefaultRegion: o.DefaultRegion,
	})
}
