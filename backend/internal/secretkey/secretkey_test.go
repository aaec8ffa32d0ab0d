package secretkey_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/secretkey"
)

func create(t *testing.T) (*secretkey.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret.key")
	f, err := secretkey.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return f, path
}

func seal(t *testing.T, f *secretkey.File, plain string) string {
	t.Helper()
	sealed, err := f.Seal(plain, "totp", "mem_1")
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSeal(t *testing.T) {
	t.Parallel()
	f, path := create(t)
	sealed := seal(t, f, "JBSWY3DPEHPK3PXP")
	if strings.Contains(sealed, "JBSWY3DP") || sealed == seal(t, f, "JBSWY3DPEHPK3PXP") {
		t.Errorf("sealed as %s, the same each time", sealed)
	}
	again, err := secretkey.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := again.Open(sealed, "totp", "mem_1"); err != nil || plain != "JBSWY3DPEHPK3PXP" {
		t.Errorf("%q, %v", plain, err)
	}
	for name, c := range map[string][3]string{
		"another member":  {sealed, "totp", "mem_2"},
		"another purpose": {sealed, "notes", "mem_1"},
		"a changed one":   {sealed[:len(sealed)-2] + "AA", "totp", "mem_1"},
		"a cut one":       {sealed[:20], "totp", "mem_1"},
		"plain text":      {"JBSWY3DPEHPK3PXP", "totp", "mem_1"},
		"nothing":         {"", "totp", "mem_1"},
	} {
		if plain, err := f.Open(c[0], c[1], c[2]); !fault.Is(err, fault.Invalid) || plain != "" {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	other, _ := create(t)
	if _, err := other.Open(sealed, "totp", "mem_1"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with another file: %v", err)
	}
	var none *secretkey.File
	if _, err := none.Seal("x", "totp", "mem_1"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without a file: %v", err)
	}
}

// Only the owner can read the file, and processes that start simultaneously use the same key.
func TestCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	if _, err := secretkey.Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	files := make([]*secretkey.File, 10)
	var group sync.WaitGroup
	for i := range files {
		group.Go(func() {
			f, err := secretkey.Create(path)
			if err != nil {
				t.Error(err)
			}
			files[i] = f
		})
	}
	group.Wait()
	sealed := seal(t, files[0], "x")
	for _, f := range files {
		if plain, err := f.Open(sealed, "totp", "mem_1"); err != nil || plain != "x" {
			t.Errorf("%q, %v", plain, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestFileOfAnotherKind(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"empty": "", "text": "hello\n", "a short key": "0123abcd AAAA\n", "comments": "# nothing\n"} {
		path := filepath.Join(t.TempDir(), "secret.key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := secretkey.Open(path); err == nil || !strings.Contains(err.Error(), "not a file of secret keys") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := secretkey.Create(path); err == nil {
			t.Errorf("%s was replaced", name)
		}
	}
}

// During a rotation, another process can open texts of both keys. Afterwards the old key is gone.
func TestRotate(t *testing.T) {
	t.Parallel()
	f, path := create(t)
	running, err := secretkey.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	old := seal(t, f, "x")
	resealed, calls := "", 0
	err = f.Rotate(func() error {
		calls++
		if current, err := f.Current(old); err != nil || current {
			t.Errorf("the old key is current: %v, %v", current, err)
		}
		plain, err := running.Open(old, "totp", "mem_1")
		if err != nil {
			return err
		}
		resealed = seal(t, running, plain)
		return nil
	})
	if err != nil || calls != 2 {
		t.Fatal(calls, err)
	}
	if plain, err := running.Open(resealed, "totp", "mem_1"); err != nil || plain != "x" {
		t.Errorf("%q, %v", plain, err)
	}
	if current, err := running.Current(resealed); err != nil || !current {
		t.Errorf("%v, %v", current, err)
	}
	if _, err := running.Open(old, "totp", "mem_1"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the old key still works: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A failed rotation leaves both keys, and the next rotation completes it.
func TestRotateThatFails(t *testing.T) {
	t.Parallel()
	f, _ := create(t)
	sealed := seal(t, f, "x")
	broken := errors.New("the database is away")
	if err := f.Rotate(func() error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if plain, err := f.Open(sealed, "totp", "mem_1"); err != nil || plain != "x" {
		t.Errorf("%q, %v", plain, err)
	}
	if err := f.Rotate(func() error {
		sealed = seal(t, f, "x")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if plain, err := f.Open(sealed, "totp", "mem_1"); err != nil || plain != "x" {
		t.Errorf("%q, %v", plain, err)
	}
}
