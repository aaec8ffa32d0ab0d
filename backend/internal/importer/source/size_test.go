//go:build !race

package source_test

import (
	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// largeSize is how large the files are whose memory is measured.
const largeSize = source.MaxBytes
