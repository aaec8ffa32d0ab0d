package disk_test

import (
	"path/filepath"
	"testing"

	"github.com/kith-crm/kith/observability/disk"
)

func TestSpace(t *testing.T) {
	t.Parallel()
	if free, size, err := disk.Space(t.TempDir()); err != nil || free == 0 || free > size {
		t.Errorf("%d of %d bytes are free: %v", free, size, err)
	}
	if _, _, err := disk.Space(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a folder that does not exist has room")
	}
}
