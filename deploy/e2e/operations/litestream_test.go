// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestLitestream
// Before, `make $PWD/.tmp/bin/litestream` builds Litestream.

package operations

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestLitestream runs the commands of operations.md: the machine dies while agents write, its
// disk is lost, and what Litestream restores lacks only writes that it had not copied yet.
func TestLitestream(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs Litestream; `make test` runs it")
	}
	blocks := documented(t, "operations.md", "### SQLite with Litestream")
	if len(blocks) != 4 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	install, configure, replicate, restore := blocks[0], blocks[1], blocks[2], blocks[3]
	makefile, err := os.ReadFile(harness.Repository("Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if version := strings.Fields(install)[2]; !strings.Contains(string(makefile), "LITESTREAM := "+version+"\n") {
		t.Errorf("the Makefile does not install %s", version)
	}
	programs := harness.Repository(".tmp", "bin")
	if _, err := os.Stat(filepath.Join(programs, "litestream")); err != nil {
		t.Fatal("litestream is missing: `make test` builds it")
	}
	data, elsewhere, config := filepath.Join(t.TempDir(), "kith"), t.TempDir(), filepath.Join(t.TempDir(), "litestream.yml")
	env := []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	stored := map[string]string{"/var/lib/kith": data, "/mnt/elsewhere": elsewhere, "/etc/litestream.yml": config}

	s := harness.NewService(t, harness.SQLite)
	s.DatabaseURL = filepath.Join(data, "kith.db")
	s.Settings["KITH_SANDBOX"], s.Settings["KITH_CREDITS_FREE"] = "false", "1000000"
	s.Start()
	key, err := os.ReadFile(filepath.Join(data, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	agent := s.NewMember(t).Agent(t)
	runShell(t, shell(t, configure, env, nil, stored))
	litestream := shell(t, "exec "+replicate, env, nil, map[string]string{"/etc/litestream.yml": config})
	var log bytes.Buffer
	litestream.Stdout, litestream.Stderr = &log, &log
	if err := litestream.Start(); err != nil {
		t.Fatal(err)
	}
	writers := []*writer{newWriter(t, agent, "first"), newWriter(t, agent, "second")}
	acked := func() (all []written) {
		for _, w := range writers {
			all = append(all, w.all()...)
		}
		return all
	}
	// Long enough for checkpoints of Litestream, at 4 MiB of log, and of kith, at 16 MiB: a write adds about 20 KiB to the log.
	var wal int64
	harness.Eventually(t, "agents have written for some seconds", func() bool {
		if info, err := os.Stat(s.DatabaseURL + "-wal"); err == nil {
			wal = max(wal, info.Size())
		}
		all := acked()
		return len(all) > 800 && time.Since(all[0].acked) > 4*time.Second
	})
	died := time.Now()
	_ = litestream.Process.Kill() // Wait is below
	s.Edge.Kill()
	_ = litestream.Wait()
	for _, w := range writers {
		w.end()
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}

	runShell(t, shell(t, restore, env, nil, stored))
	names := namesIn(t, s)
	copied := lastCopyButOne(t, elsewhere)
	var lost []time.Duration
	for _, one := range acked() {
		if names[one.name] {
			continue
		}
		lost = append(lost, died.Sub(one.acked))
		if one.acked.Before(copied) {
			t.Errorf("a write that was acknowledged %s before the machine died is lost, the last copy but one is %s old; Litestream wrote:\n%s",
				died.Sub(one.acked), died.Sub(copied), log.String())
			break
		}
	}
	t.Logf("%d writes were acknowledged, %d restored, %d lost, in the last %s; the log had %d KiB",
		len(acked()), len(names), len(lost), slices.Max(append(lost, 0)), wal>>10)
	if again, err := os.ReadFile(filepath.Join(data, "secret.key")); err != nil || !bytes.Equal(again, key) {
		t.Errorf("the secret key is another: %v", err)
	}
	s.Start()
	agent.Create(t, harness.Arguments{"name": "After the Restore"})
}

// lastCopyButOne returns when Litestream read the log for the last copy but one in its folder.
// It read the log for the last copy after that, so the copies hold what was acknowledged before.
func lastCopyButOne(t *testing.T, folder string) time.Time {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "kith", "ltx", "0", "*.ltx"))
	if err != nil || len(files) < 10 {
		t.Fatalf("Litestream made %d copies: %v", len(files), err)
	}
	slices.Sort(files)                        // by number of transaction
	info, err := os.Stat(files[len(files)-2]) // Litestream gives a copy the time at which it read the log
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}
