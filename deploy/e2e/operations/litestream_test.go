// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestLitestream
// Before, `make $PWD/.tmp/bin/litestream` builds Litestream.

package operations

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestLitestream runs the commands of operations.md: the machine dies while agents write, its
// disk is lost, and what Litestream restores lacks at most the last second of acknowledged
// writes. It doesn't run beside other tests of the package, because it compares times.
func TestLitestream(t *testing.T) { //nolint:paralleltest // see above
	if testing.Short() {
		t.Skip("-short leaves out what needs Litestream; `make test` runs it")
	}
	blocks := documented(t, "SQLite with Litestream")
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
	// Long enough for checkpoints of Litestream, at 4 MiB of log, and of kith, at 16 MiB.
	var wal int64
	harness.Eventually(t, "agents have written for some seconds", func() bool {
		if info, err := os.Stat(s.DatabaseURL + "-wal"); err == nil {
			wal = max(wal, info.Size())
		}
		all := acked()
		return len(all) > 1500 && time.Since(all[0].acked) > 4*time.Second
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
	var lost []time.Duration
	for _, one := range acked() {
		if !names[one.name] {
			lost = append(lost, died.Sub(one.acked))
		}
	}
	t.Logf("%d writes were acknowledged, %d restored, %d lost; the log had %d KiB", len(acked()), len(names), len(lost), wal>>10)
	for _, before := range lost {
		if before > time.Second {
			t.Errorf("a write that was acknowledged %s before is lost; Litestream wrote:\n%s", before, log.String())
			break
		}
	}
	if again, err := os.ReadFile(filepath.Join(data, "secret.key")); err != nil || !bytes.Equal(again, key) {
		t.Errorf("the secret key is another: %v", err)
	}
	s.Start()
	agent.Create(t, harness.Arguments{"name": "After the Restore"})
}
