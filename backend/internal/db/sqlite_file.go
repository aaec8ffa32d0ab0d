package db

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/uptrace/bun"
)

// sqliteApplication is the application id in the header of Kith's files: "Kith".
const sqliteApplication = 0x4b697468

// The places in the header of a SQLite file (https://www.sqlite.org/fileformat2.html#the_database_header).
const (
	headerSize        = 100
	headerUserVersion = 60
	headerApplication = 68
)

// sqliteFile is an open database file. It tells whether the file at the path is still the one that
// SQLite has open: SQLite goes on with a file that was removed or replaced, and its writes are lost.
type sqliteFile struct {
	path string
	held *heldFile
	// marker is the header's user version, a random number that each installation and each backup
	// has; 0 while it is not known.
	marker atomic.Uint32
	seen   atomic.Pointer[fileVerdict]
	inUse  *os.File // locked, shared, while the database is open
	closed sync.Once
}

// fileVerdict is the result of the last comparison of the header.
type fileVerdict struct {
	modified time.Time
	size     int64
	err      error
}

// heldFile is a file of this process with SQLite connections. Closing any descriptor of a file
// releases all POSIX locks that the process has on it, SQLite's too
// (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_),
// so it is closed after the last of them only.
type heldFile struct {
	file  *os.File
	info  os.FileInfo
	count int
}

// held are the files that this process has open, one or two.
var held struct {
	sync.Mutex
	files []*heldFile
}

// holdFile opens a file, unless this process has it open, and makes it if it doesn't exist.
func holdFile(path string) (*heldFile, error) {
	held.Lock()
	defer held.Unlock()
	if info, err := os.Stat(path); err == nil {
		if i := slices.IndexFunc(held.files, func(h *heldFile) bool { return os.SameFile(h.info, info) }); i >= 0 {
			held.files[i].count++
			return held.files[i], nil
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("cannot open the database for writing: %w (the file and its folder must belong to the user that runs kith)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the database: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = giveToFolder(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database: %w", err), f.Close())
	}
	h := &heldFile{file: f, info: info, count: 1}
	held.files = append(held.files, h)
	return h, nil
}

func (h *heldFile) release() error {
	held.Lock()
	defer held.Unlock()
	if h.count--; h.count > 0 {
		return nil
	}
	held.files = slices.DeleteFunc(held.files, func(other *heldFile) bool { return other == h })
	return h.file.Close()
}

// header returns the application id and the user version in the file; 0 and 0 of an empty file.
func (h *heldFile) header() (application, marker uint32, err error) {
	head := make([]byte, headerSize)
	n, err := h.file.ReadAt(head, 0)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, 0, err
	case n == 0:
		return 0, 0, nil
	case n < headerSize || string(head[:len(sqliteMagic)]) != sqliteMagic:
		return 0, 0, errors.New("it is not a SQLite database")
	default:
		return binary.BigEndian.Uint32(head[headerApplication:]), binary.BigEndian.Uint32(head[headerUserVersion:]), nil
	}
}

// openFile opens the file of a database, or makes it, and refuses one that is not Kith's.
func openFile(ctx context.Context, path string) (_ *sqliteFile, err error) {
	h, err := holdFile(path)
	if err != nil {
		return nil, err
	}
	f := &sqliteFile{path: path, held: h}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err := requireKith(ctx, h, path); err != nil {
		return nil, err
	}
	f.inUse, err = lockShared(path + inUseSuffix)
	return f, err
}

// requireKith refuses a file that is neither Kith's nor new. Another process of Kith may be making it,
// and this one then reads half of what is written: it looks again.
func requireKith(ctx context.Context, h *heldFile, path string) error {
	const looks = 60
	for look := 1; ; look++ {
		application, _, err := h.header()
		switch {
		case err != nil:
			err = fmt.Errorf("%s is not a database of Kith: %w", path, err)
		case application == sqliteApplication:
			return nil
		default:
			if err = requireNoTables(ctx, path); err == nil {
				return nil
			}
		}
		if _, beside := os.Stat(path + lockSuffix); beside != nil || look == looks || !waitShortly(ctx, 5) {
			return err
		}
	}
}

// requireNoTables refuses a SQLite file with tables: without Kith's application id, they are those
// of another program. It changes nothing.
func requireNoTables(ctx context.Context, path string) (err error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return err
	}
	pool, err := openSQLiteFile(path, "mode=ro&immutable=1", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var tables int
	if err := pool.NewRaw("SELECT count(*) FROM sqlite_schema").Scan(ctx, &tables); err != nil {
		return unreadable(path, err)
	}
	if tables > 0 {
		return fmt.Errorf("%s is the database of another program: set KITH_DATABASE_URL to a file of Kith, or to a new one", path)
	}
	return nil
}

// unreadable adds the file's name, and what to do, to an error of SQLite.
func unreadable(path string, err error) error {
	if isDamage(err) {
		return fmt.Errorf("the database %s is damaged (%w): stop kith, move the file away, and restore the last backup with `kith restore`", path, err)
	}
	return fmt.Errorf("cannot read the database %s: %w", path, err)
}

// learnMarker reads the marker, and makes sure that the file's header has it: that of a database that
// was just made may still be in the write-ahead log.
func (f *sqliteFile) learnMarker(ctx context.Context, db *bun.DB) error {
	var application, marker uint32
	if err := db.NewRaw("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(ctx, &application, &marker); err != nil {
		return unreadable(f.path, err)
	}
	if application != sqliteApplication {
		return nil // not migrated yet
	}
	if _, found, err := f.held.header(); err == nil && found != marker {
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(FULL)"); err != nil {
			return unreadable(f.path, err)
		}
	}
	if _, found, err := f.held.header(); err == nil && found == marker {
		f.marker.Store(marker)
	}
	return nil
}

// check returns errStoreLost if the file at the path is no longer the one that is open, or was
// overwritten by another database.
func (f *sqliteFile) check() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the file %s was removed", errStoreLost, f.path)
	case err != nil:
		return fmt.Errorf("%w: %w", errStoreLost, err)
	case !os.SameFile(info, f.held.info):
		return fmt.Errorf("%w: the file %s was replaced", errStoreLost, f.path)
	}
	marker := f.marker.Load()
	if marker == 0 {
		return nil
	}
	if v := f.seen.Load(); v != nil && v.size == info.Size() && v.modified.Equal(info.ModTime()) {
		return v.err
	}
	v := &fileVerdict{modified: info.ModTime(), size: info.Size()}
	if application, found, err := f.held.header(); err != nil || application != sqliteApplication || found != marker {
		v.err = fmt.Errorf("%w: the file %s was overwritten", errStoreLost, f.path)
	}
	f.seen.Store(v)
	return v.err
}

// errStoreLost is the error of all statements while the file of the database is not the one that was
// opened.
var errStoreLost = errors.New("the database file is not the one that kith opened; stop kith, put the file back or restore a backup, and start it again")

// close may be called again; then it does nothing.
func (f *sqliteFile) close() (err error) {
	if f == nil {
		return nil
	}
	f.closed.Do(func() {
		if f.inUse != nil {
			err = f.inUse.Close()
		}
		err = errors.Join(err, f.held.release())
	})
	return err
}

// inUseSuffix names the file that every process with an open database holds a shared lock on.
// It stays when the database file is removed or replaced.
const inUseSuffix = ".in-use"

// lockSuffix is that of the file that a process locks while it makes or migrates the database.
const lockSuffix = ".lock"

// errRunning is the error of commands that must be alone.
var errRunning = errors.New("kith is running with this database: stop it first")

// errLocked is the error of a file that another process has locked.
var errLocked = errors.New("another process has locked it")

func lockShared(path string) (*os.File, error) { return flock(path, false) }

// lockAlone fails with errRunning while a process has the database open.
func lockAlone(path string) (*os.File, error) {
	f, err := flock(path+inUseSuffix, true)
	if errors.Is(err, errLocked) {
		return nil, errRunning
	}
	return f, err
}

func flock(path string, exclusive bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the database: %w", err)
	}
	if err := giveToFolder(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := lockNow(f, exclusive); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), f.Close())
	}
	return f, nil
}

// giveToFolder gives a file that root made to the owner of its folder: an operator's command with sudo must not
// leave files that the service cannot open. For other users, and in a folder of root, it does nothing.
func giveToFolder(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("look at the folder of the database: %w", err)
	}
	file, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	uid, gid, _ := ownerOf(folder)
	// A file with several names may be one of the system, which the owner of the folder must not get.
	if now, _, names := ownerOf(file); now != 0 || names > 1 || uid == 0 {
		return nil
	}
	if err := os.Lchown(path, int(uid), int(gid)); err != nil {
		return fmt.Errorf("give the database to the user that runs kith: %w", err)
	}
	return nil
}

// newMarker returns a random marker for a new database or a backup.
func newMarker() uint32 { return rand.Uint32N(1<<31-1) + 1 }

// setMarker gives a database Kith's application id and a new marker.
func setMarker(ctx context.Context, db bun.IDB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", sqliteApplication, newMarker()))
	return err
}

// walSync makes committed transactions durable: one fsync of the write-ahead log serves all
// transactions that were committed before it began. SQLite itself syncs the log only before a
// checkpoint (synchronous=NORMAL), so a commit does not wait for the disk while it holds the
// write lock.
type walSync struct {
	path  string       // of the log
	flush func() error // sync; tests replace it

	mu      sync.Mutex
	file    *os.File
	wanted  uint64
	synced  uint64 // the last ticket that is on the disk
	current *walRun
	// failed stays set: after an fsync that failed, the kernel may drop what it could not write, and
	// call the next fsync a success.
	failed error
}

// walRun is one fsync.
type walRun struct {
	upTo uint64
	done chan struct{}
	err  error
}

func newWALSync(path string) *walSync {
	w := &walSync{path: path}
	w.flush = w.sync
	return w
}

// wait returns when everything that was committed before the call is on the disk.
func (w *walSync) wait() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	w.wanted++
	ticket := w.wanted
	for {
		run := w.current
		if w.failed != nil {
			defer w.mu.Unlock()
			return w.failed
		}
		if w.synced >= ticket { // a sync began and ended since the one that this caller waited for
			w.mu.Unlock()
			return nil
		}
		if run == nil { // this caller syncs for all that wait
			run = &walRun{upTo: w.wanted, done: make(chan struct{})}
			w.current = run
			w.mu.Unlock()
			run.err = w.flush()
			w.mu.Lock()
			w.current, w.failed = nil, run.err
			if run.err == nil {
				w.synced = run.upTo
			}
			close(run.done)
			w.mu.Unlock()
			return run.err
		}
		w.mu.Unlock()
		<-run.done
		if run.upTo >= ticket {
			return run.err
		}
		w.mu.Lock()
	}
}

// failure returns the error that refuses all writes.
func (w *walSync) failure() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// sync writes the log to the disk. SQLite may have removed the log, when everything in it was
// written to the database and synced.
func (w *walSync) sync() error {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && w.file != nil {
		var open os.FileInfo
		if open, err = w.file.Stat(); err == nil && !os.SameFile(open, info) {
			err = w.file.Close()
			w.file = nil
		}
	}
	if err == nil && w.file == nil {
		w.file, err = os.OpenFile(w.path, os.O_RDWR, 0)
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotDurable, err)
	}
	return nil
}

// errNotDurable is the error of a commit that may not survive a power cut.
var errNotDurable = errors.New("the write-ahead log cannot be written to the disk; writes are refused until kith is restarted")

func (w *walSync) close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}
