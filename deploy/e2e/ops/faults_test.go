//go:build faults

package ops

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/internal/freeport"
	_ "modernc.org/sqlite"
)

// TestFaults plays the faults of one machine: `kith serve` on SQLite, on a disk of its own, under writes with keys. After
// each fault, every write that was acknowledged is in the database exactly once. It needs root, to make disks.
func TestFaults(t *testing.T) {
	program := filepath.Join(t.TempDir(), "kith")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/kith-crm/kith/deploy/cmd/kith").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, fault := range []struct {
		name string
		play func(m *machine)
	}{
		{"power cut", (*machine).cutPower}, {"full disk", (*machine).fillDisk}, {"I/O errors", (*machine).breakDisk},
		{"kill -9", (*machine).killOften}, {"file moved away", (*machine).moveFile},
	} {
		t.Run(fault.name, func(t *testing.T) { fault.play(newMachine(t, program)) })
	}
}

// machine is one machine with one disk, which is a file on this machine.
type machine struct {
	*testing.T

	program      string
	store, image string // the file system with the image of the disk
	disk         string // where it is mounted
	kith         *process
	admin, token string
	site         *site
	mu           sync.Mutex
	acknowledged map[string]bool
	refused      int
	stop         context.CancelFunc
	writers      sync.WaitGroup
}

const (
	storeSize = "192m"
	diskSize  = 128 << 20
)

func newMachine(t *testing.T, program string) *machine {
	t.Helper()
	m := &machine{T: t, program: program, store: t.TempDir(), disk: t.TempDir(), acknowledged: map[string]bool{}}
	must(t, syscall.Mount("tmpfs", m.store, "tmpfs", 0, "size="+storeSize))
	t.Cleanup(func() { _ = syscall.Unmount(m.store, syscall.MNT_DETACH) })
	m.image = filepath.Join(m.store, "disk")
	file, err := os.Create(m.image)
	must(t, err)
	must(t, file.Truncate(diskSize))
	must(t, file.Close())
	m.run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", m.image)
	m.mount(m.image, m.disk)
	s := &site{t: t, dir: t.TempDir(), builds: [2]string{program}, admin: map[string]string{}}
	s.ports = freeport.NewAllocator()
	address := s.address()
	s.base, s.databaseURL, m.site = "http://"+address, filepath.Join(m.disk, "kith.db"), s
	m.kith = s.kith("kith", "serve", "KITH_ADDR="+address, "KITH_DATABASE_URL="+s.databaseURL, "KITH_SANDBOX=false", "KITH_CREDITS_PRO=1000000000", "KITH_MAX_IN_FLIGHT=-1")
	m.admin = s.admin["kith"]
	m.kith.start()
	_, _, m.token = s.member("pro")
	return m
}

func (m *machine) run(program string, args ...string) {
	m.Helper()
	if out, err := exec.CommandContext(m.Context(), program, args...).CombinedOutput(); err != nil {
		m.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// mount mounts the image of a disk until the test ends.
func (m *machine) mount(image, folder string) {
	m.Helper()
	m.run("mount", "-o", "loop", image, folder)
	m.Cleanup(func() { _ = exec.Command("umount", "-l", folder).Run() })
}

// write begins to write from four clients, until pause. A write is sent again with the same key until it is acknowledged.
func (m *machine) write() {
	ctx, stop := context.WithCancel(m.Context())
	m.stop = stop
	for n := range 4 {
		m.writers.Go(func() {
			c := m.site.client(m.token)
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("Person %d %d %d", n, i, rand.Uint64())
				body := toolCall("create_connection", arguments{"name": name})
				for ctx.Err() == nil {
					got, err := c.call(context.WithoutCancel(ctx), body, "Idempotency-Key: "+name)
					m.mu.Lock()
					if err == nil && got.done() {
						m.acknowledged[name] = true
						m.mu.Unlock()
						break
					}
					m.refused++
					m.mu.Unlock()
					time.Sleep(tick)
				}
			}
		})
	}
}

func (m *machine) pause() {
	m.stop()
	m.writers.Wait()
}

// known returns the writes acknowledged so far, and how many attempts were refused.
func (m *machine) known() (names map[string]bool, refused int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	names = make(map[string]bool, len(m.acknowledged))
	for name := range m.acknowledged {
		names[name] = true
	}
	return names, m.refused
}

// writes waits until so many more writes are acknowledged.
func (m *machine) writes(more int) {
	m.Helper()
	before, _ := m.known()
	within(m.T, timeout, "writes are acknowledged", func() bool {
		now, _ := m.known()
		return len(now) >= len(before)+more
	})
}

// judge fails the test unless the database in a folder is whole and has each of the writes exactly once.
func (m *machine) judge(folder string, names map[string]bool) {
	m.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "kith.db")+"?_pragma=busy_timeout(10000)")
	must(m.T, err)
	defer func() { _ = db.Close() }()
	var verdict string
	must(m.T, db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	rows, err := db.Query("SELECT name, count(*) FROM connections GROUP BY 1")
	must(m.T, err)
	defer func() { _ = rows.Close() }()
	stored := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		must(m.T, rows.Scan(&name, &n))
		stored[name] = n
	}
	must(m.T, rows.Err())
	lost, doubled := 0, 0
	for name := range names {
		if stored[name] == 0 {
			lost++
		}
	}
	for _, n := range stored {
		if n > 1 {
			doubled++
		}
	}
	if lost > 0 || doubled > 0 || verdict != "ok" || len(names) == 0 {
		m.Errorf("of %d acknowledged writes %d are lost and %d are there twice; the check says %s", len(names), lost, doubled, verdict)
		return
	}
	m.Logf("%d acknowledged writes, each is there once", len(names))
}

func (m *machine) ready() bool { return isOK("http://" + m.admin + "/readyz") }

// reads reports whether a read is answered.
func (m *machine) reads() bool {
	got, err := m.site.client(m.token).call(m.Context(), toolCall("search_connections", arguments{"query": "Person", "limit": 1}))
	return err == nil && got.done()
}

// cutPower copies the disk ten times, as it is when the power fails, and starts from the last copy. A copy has only what
// was written to the disk: what is in the memory of the machine is lost.
func (m *machine) cutPower() {
	copied := filepath.Join(m.TempDir(), "copy")
	for range 10 {
		m.write()
		m.writes(50 + rand.IntN(200))
		must(m.T, m.kith.command.Process.Signal(syscall.SIGSTOP))
		names, _ := m.known()
		m.run("cp", "--sparse=always", m.image, copied)
		must(m.T, m.kith.command.Process.Signal(syscall.SIGCONT))
		m.pause()
		elsewhere := m.TempDir()
		m.mount(copied, elsewhere)
		m.judge(elsewhere, names)
		m.run("umount", elsewhere)
	}
}

// fill fills the file system of a folder with a file, and waits until writes are refused.
func (m *machine) fill(folder string) (ballast string) {
	m.Helper()
	file, err := os.Create(filepath.Join(folder, "ballast"))
	must(m.T, err)
	for block := make([]byte, 1<<12); err == nil; {
		_, err = file.Write(block)
	}
	_ = file.Close() // the file system is full
	within(m.T, timeout, "writes are refused and the process is not ready", func() bool {
		_, refused := m.known()
		return refused > 0 && !m.ready()
	})
	return file.Name()
}

// fillDisk fills the disk: reads go on, writes are refused, and go on once there is room again.
func (m *machine) fillDisk() {
	m.write()
	m.writes(100)
	ballast := m.fill(m.disk)
	if !m.reads() {
		m.Error("a read is refused while the disk is full")
	}
	must(m.T, os.Remove(ballast))
	within(m.T, timeout, "the process is ready again", m.ready)
	m.writes(100)
	m.pause()
	m.kith.stop()
	names, _ := m.known()
	m.judge(m.disk, names)
}

// breakDisk makes writes to the disk fail with I/O errors: the file that holds the disk cannot grow.
func (m *machine) breakDisk() {
	m.write()
	m.writes(100)
	ballast := m.fill(m.store)
	m.pause()
	m.kith.kill()
	names, _ := m.known()
	must(m.T, os.Remove(ballast))
	m.run("umount", "-l", m.disk)
	repaired := m.TempDir()
	_ = exec.Command("fsck.ext4", "-fy", m.image).Run() // its exit code says what it repaired
	m.mount(m.image, repaired)
	m.judge(repaired, names)
}

// killOften kills the process twenty times.
func (m *machine) killOften() {
	m.write()
	for range 20 {
		m.writes(20 + rand.IntN(50))
		m.kith.kill()
		m.kith.start()
	}
	m.writes(100)
	m.pause()
	m.kith.stop()
	names, _ := m.known()
	m.judge(m.disk, names)
}

// moveFile moves the database file away under the running process: every write is refused until the file is back.
func (m *machine) moveFile() {
	m.write()
	m.writes(100)
	file := m.site.databaseURL
	before, _ := m.known()
	must(m.T, os.Rename(file, file+".away"))
	within(m.T, timeout, "the process is not ready", func() bool { return !m.ready() })
	got, err := m.site.client(m.token).send(m.Context(), http.MethodPost, mcp, toolCall("create_connection", arguments{"name": "Nowhere"}), jsonType)
	if err == nil && (got.done() || got.status == http.StatusUnauthorized || !strings.Contains(got.body, "unavailable")) && got.status < 500 {
		m.Errorf("a write into nothing got %d %s", got.status, got.body)
	}
	m.pause()
	m.kith.kill()
	must(m.T, os.Rename(file+".away", file))
	m.kith.start()
	m.write()
	m.writes(50)
	m.pause()
	m.kith.stop()
	names, _ := m.known()
	if len(names) <= len(before) {
		m.Error("nothing was written afterwards")
	}
	m.judge(m.disk, names)
}
