package db

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Backup writes a whole database into a new file, while the database is in use. For
// SQLite the file is a database too, for PostgreSQL an archive of pg_dump, which must be
// installed. The file is written completely or not at all, is checked before Backup returns, and only
// its owner can read it.
func Backup(ctx context.Context, databaseURL, file string) error {
	return writeBackup(file, func(partial string) error {
		if IsPostgres(databaseURL) {
			return dumpPostgres(ctx, databaseURL, partial)
		}
		return backupSQLite(ctx, databaseURL, partial)
	})
}

// writeBackup makes a file that write writes completely, under another name until it is on the disk.
func writeBackup(file string, write func(partial string) error) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists: name a new file", file)
	}
	if folder := filepath.Dir(file); !isFolder(folder) {
		return fmt.Errorf("the folder %s does not exist: make it first", folder)
	}
	partial := file + ".partial"
	removeLeftovers(partial)
	if err := write(partial); err != nil {
		removeLeftovers(partial)
		return err
	}
	if err := errors.Join(syncFile(partial), os.Rename(partial, file), syncFile(filepath.Dir(file))); err != nil {
		return fmt.Errorf("the backup cannot be kept: %w", err)
	}
	return nil
}

// RecordBackup stores the present time as the time of the last backup.
func RecordBackup(ctx context.Context, databaseURL string) (err error) {
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.engine.admin.NewRaw(`INSERT INTO installation (number, backed_up_at) VALUES (1, ?)
ON CONFLICT (number) DO UPDATE SET backed_up_at = EXCLUDED.backed_up_at`, s.Now()).Exec(ctx)
	return Coded(err)
}

// Installation has the times of the last backup and the last sweep of the database; the zero time means never.
type Installation struct {
	// MadeAt is when the database was made, BackedUpAt when it was last backed up (Backup, RecordBackup), and
	// SweptAt when expired rows were last deleted (MarkSwept).
	MadeAt, BackedUpAt, SweptAt time.Time
}

// Installation reads these times.
func (s *DB) Installation(ctx context.Context) (Installation, error) {
	pool := s.engine.serviceRead
	if s.engine.name == postgresName {
		pool = s.engine.admin // the others may not read the migrations
	}
	var made, backedUp, swept sql.NullTime
	err := pool.NewRaw(`SELECT (SELECT applied_at FROM schema_migrations ORDER BY applied_at LIMIT 1),
(SELECT backed_up_at FROM installation WHERE number = 1), (SELECT swept_at FROM installation WHERE number = 1)`).Scan(ctx, &made, &backedUp, &swept)
	return Installation{MadeAt: made.Time, BackedUpAt: backedUp.Time, SweptAt: swept.Time}, Coded(err)
}

// MarkSwept stores the time of a sweep, by the clock of this process.
func (s *DB) MarkSwept(ctx context.Context, at time.Time) error {
	_, err := s.NewWrite(`INSERT INTO installation (number, swept_at) VALUES (1, ?)
ON CONFLICT (number) DO UPDATE SET swept_at = EXCLUDED.swept_at`, at.UTC()).Exec(ctx)
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Restore restores a file that Backup wrote: into a SQLite database that doesn't exist
// yet, or into an empty PostgreSQL one. The file must be of the same kind of database, and
// of this version of Kith or an older one; run `kith migrate` after it.
func Restore(ctx context.Context, databaseURL, file string) error {
	head := make([]byte, len(sqliteMagic))
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	_, _ = f.Read(head) // a file that is too short is of neither kind
	if err := f.Close(); err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	ofSQLite, ofPostgres := string(head) == sqliteMagic, strings.HasPrefix(string(head), dumpMagic)
	switch {
	case IsPostgres(databaseURL) && ofPostgres:
		return restorePostgres(ctx, databaseURL, file)
	case !IsPostgres(databaseURL) && ofSQLite:
		return restoreSQLite(ctx, databaseURL, file)
	case ofSQLite:
		return fmt.Errorf("%s is a backup of a SQLite database, and the database URL names PostgreSQL", file)
	case ofPostgres:
		return fmt.Errorf("%s is a backup of a PostgreSQL database, and the database URL names a SQLite file", file)
	default:
		return fmt.Errorf("%s is no backup of Kith", file)
	}
}

// sqliteMagic is how every SQLite database begins.
const sqliteMagic = "SQLite format 3\x00"

func backupSQLite(ctx context.Context, databaseURL, file string) (err error) {
	if _, err := os.Stat(sqlitePath(databaseURL)); err != nil {
		return fmt.Errorf("there is no database to back up: %w", err)
	}
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.copySQLite(ctx, file)
}

// keepBefore backs a SQLite database up before it gets a migration, and returns the file. A backup that a
// killed process left is older than the database: it is written again.
func (s *DB) keepBefore(ctx context.Context, m migration) (string, error) {
	file := s.file + ".before-" + m.name
	err := os.Remove(file)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = writeBackup(file, func(partial string) error { return s.copySQLite(ctx, partial) })
	}
	if err != nil {
		return "", fmt.Errorf("the database is not upgraded, because it cannot be backed up before (KITH_BACKUP_BEFORE_UPGRADE=false upgrades without): %w", err)
	}
	return file, nil
}

// copySQLite writes a copy of a database, and checks both: a page that can't be read, or rows that
// an index has and its table lacks, would be missing from the copy without an error.
func (s *DB) copySQLite(ctx context.Context, file string) (err error) {
	if err := s.CheckIntegrity(ctx); err != nil {
		return fmt.Errorf("the database can't be backed up: %w", err)
	}
	removeLeftovers(file)
	if err := createPrivate(file); err != nil { // VACUUM INTO accepts an empty file
		return err
	}
	defer func() {
		if err != nil {
			removeLeftovers(file)
		}
	}()
	for range 3 { // another process may write meanwhile: then the numbers of rows may differ
		var before, after int64
		if before, err = s.dataVersion(ctx); err != nil {
			return err
		}
		if err := os.Truncate(file, 0); err != nil {
			return fmt.Errorf("the backup cannot be written: %w", err)
		}
		if _, err := s.engine.admin.NewRaw("VACUUM INTO ?", file).Exec(ctx); err != nil {
			return fmt.Errorf("the database cannot be copied: %w", err)
		}
		rows, err := countRows(ctx, s.engine.admin)
		if err != nil {
			return err
		}
		if after, err = s.dataVersion(ctx); err != nil {
			return err
		}
		if before != after {
			rows = nil
		}
		if err := finishBackup(ctx, file, rows); err != nil || rows != nil {
			return err
		}
	}
	return nil
}

// dataVersion returns a number that changes when another connection commits.
func (s *DB) dataVersion(ctx context.Context) (version int64, err error) {
	err = s.engine.admin.NewRaw("PRAGMA data_version").Scan(ctx, &version)
	return version, err
}

// countRows returns the number of rows of each table.
func countRows(ctx context.Context, db bun.IDB) (map[string]int64, error) {
	var names []string
	if err := db.NewRaw("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'").Scan(ctx, &names); err != nil {
		return nil, err
	}
	counts := make(map[string]int64, len(names))
	for _, name := range names {
		var n int64
		// NOT INDEXED reads the table itself: integrity_check has compared the indexes with it.
		if err := db.NewRaw("SELECT count(*) FROM ? NOT INDEXED", bun.Ident(name)).Scan(ctx, &n); err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		counts[name] = n
	}
	return counts, nil
}

// finishBackup checks a copy, and gives it a marker of its own: a copy over the file of a running
// kith is recognised by it.
func finishBackup(ctx context.Context, file string, rows map[string]int64) (err error) {
	pool, err := openSQLiteFile(file, "_pragma=journal_mode(DELETE)", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := setMarker(ctx, pool); err != nil {
		return fmt.Errorf("the backup cannot be written: %w", err)
	}
	if err := checkIntegrity(ctx, pool, file); err != nil {
		return fmt.Errorf("the backup is of no use: %w", err)
	}
	copied, err := countRows(ctx, pool)
	for name, n := range rows {
		if copied[name] != n && err == nil {
			err = fmt.Errorf("the backup is of no use: it has %d of %d rows of %s", copied[name], n, name)
		}
	}
	return err
}

// restoreSQLite copies a backup to a new file.
func restoreSQLite(ctx context.Context, databaseURL, file string) (err error) {
	path := sqlitePath(databaseURL)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the database: %w", err)
	}
	alone, err := lockAlone(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	for _, taken := range []string{path, path + "-wal", path + "-journal"} {
		if _, err := os.Lstat(taken); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s is there already: stop kith and move it away first", taken), os.Remove(path+inUseSuffix))
		}
	}
	partial := path + ".partial"
	removeLeftovers(partial)
	err = copyPrivate(partial, file)
	if err == nil {
		err = checkRestored(ctx, partial)
	}
	if err == nil {
		err = giveToFolder(partial)
	}
	if err == nil {
		err = errors.Join(os.Rename(partial, path), syncFile(filepath.Dir(path)))
	}
	removeLeftovers(partial)
	if err != nil {
		_ = os.Remove(path + inUseSuffix) // the error that caused this is returned
	}
	return err
}

// removeLeftovers removes a partial file and what SQLite and kith put beside it. What a killed backup
// or restore left behind would otherwise be taken for a part of the next one.
func removeLeftovers(partial string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm", lockSuffix, inUseSuffix} {
		_ = os.Remove(partial + suffix) // creating the file fails if this did
	}
}

func copyPrivate(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := createPrivate(to); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_TRUNC|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	_, copyErr := io.Copy(target, source)
	if err := errors.Join(copyErr, target.Sync(), target.Close()); err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	return nil
}

// checkRestored checks that a copy is complete, and of a version that this binary knows.
func checkRestored(ctx context.Context, path string) (err error) {
	s, err := connect(ctx, Config{URL: path, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.CheckIntegrity(ctx); err != nil {
		return fmt.Errorf("the backup is of no use: %w", err)
	}
	if known, err := s.hasMigrations(ctx); err != nil || !known {
		return errors.Join(err, errors.New("the file is a SQLite database, but none of Kith"))
	}
	if err := s.checkSchema(ctx); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return err
	}
	return nil
}

// inspectSQLite opens a database for reading and changes nothing on the disk: it creates no file and keeps
// the mode. It refuses the database of another program before SQLite opens it.
func inspectSQLite(path string) (_ *DB, err error) {
	h, err := readHeader(path)
	if err != nil {
		return nil, err
	}
	if h != sqliteApplication {
		return nil, fmt.Errorf("%s is not a database of Kith", path)
	}
	// While kith runs, the log and its index are there. Without them nothing else has the file open.
	options := "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(1000)"
	beside, err := filepath.Glob(path + "-*")
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(beside, path+"-journal"):
		return nil, fmt.Errorf("%s-journal is the rest of a change that was interrupted: start kith, which takes it back", path)
	case !slices.Contains(beside, path+"-shm"):
		options += "&immutable=1"
	}
	pool, err := openSQLiteFile(path, options, 1)
	if err != nil {
		return nil, err
	}
	return &DB{
		now: time.Now, logger: slog.New(slog.DiscardHandler), fault: func(string) error { return nil }, queryWatch: noop{}, file: path,
		engine: engine{name: sqliteName, serviceRead: pool, serviceWrite: pool, tenantRead: pool, tenantWrite: pool, admin: pool},
	}, nil
}

// readHeader returns the application id of a file.
func readHeader(path string) (application uint32, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no database yet (kith serve makes it): %w", err)
	}
	if err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the database: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("cannot read the database: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	application, _, err = (&heldFile{file: f}).header()
	if err != nil {
		return 0, fmt.Errorf("%s is not a database of Kith: %w", path, err)
	}
	return application, nil
}

// dumpMagic is how every archive of pg_dump begins.
const dumpMagic = "PGDMP"

func dumpPostgres(ctx context.Context, databaseURL, file string) error {
	if err := createPrivate(file); err != nil {
		return err
	}
	if err := runPostgres(ctx, databaseURL, "pg_dump", "--format=custom", "--no-owner", "--file="+file); err != nil {
		return err
	}
	list, err := exec.CommandContext(ctx, "pg_restore", "--list", file).Output()
	if err != nil || !bytes.Contains(list, []byte("TABLE DATA")) {
		return fmt.Errorf("the backup is of no use: pg_restore can't read it (%w)", cmp.Or(err, errors.New("it has no table")))
	}
	return nil
}

func restorePostgres(ctx context.Context, databaseURL, file string) (err error) {
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var tables int
	err = s.engine.admin.NewRaw("SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()").Scan(ctx, &tables)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if tables > 0 {
		return fmt.Errorf("the database holds %d tables already: name an empty one", tables)
	}
	// Roles belong to the server, not to the database, so dumps don't contain them.
	for _, role := range []string{tenantRole, serviceRole} {
		_, err := s.engine.admin.ExecContext(ctx, "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '"+role+"') THEN CREATE ROLE "+role+
			" NOLOGIN; END IF; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
		if err != nil {
			return fmt.Errorf("make the role %s: %w", role, err)
		}
	}
	args := []string{"--exit-on-error", "--single-transaction", "--no-owner"}
	owner, err := otherOwner(ctx, s)
	if err != nil {
		return err
	}
	if owner != "" {
		args = append(args, "--role="+owner)
	}
	return runPostgres(ctx, databaseURL, "pg_restore", append(args, file)...)
}

// otherOwner returns the owner of the database if that is not the user of its URL, and gives them the roles that
// kith works as: backups need another user than the service, whose tables the restored ones must be. It returns
// an empty name for a database that the user owns.
func otherOwner(ctx context.Context, s *DB) (string, error) {
	var owner, user string
	err := s.engine.admin.NewRaw("SELECT pg_get_userbyid(datdba), current_user FROM pg_database WHERE datname = current_database()").Scan(ctx, &owner, &user)
	if err != nil {
		return "", fmt.Errorf("look up the owner of the database: %w", err)
	}
	if owner == user {
		return "", nil
	}
	if _, err := s.engine.admin.ExecContext(ctx, "GRANT ?, ? TO ?", bun.Ident(tenantRole), bun.Ident(serviceRole), bun.Ident(owner)); err != nil {
		return "", fmt.Errorf("give %s, the owner of the database, the roles of kith: %w", owner, err)
	}
	return owner, nil
}

// runPostgres runs one of PostgreSQL's programs on a database.
func runPostgres(ctx context.Context, databaseURL, program string, args ...string) error {
	address, password, err := splitPassword(databaseURL)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, append([]string{"--dbname=" + address}, args...)...)
	command.Env = os.Environ()
	if password != "" {
		command.Env = append(command.Env, "PGPASSWORD="+password)
	}
	var complaint bytes.Buffer
	command.Stderr = &complaint
	err = command.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed here: it comes with PostgreSQL's client programs", program)
	}
	if strings.Contains(complaint.String(), "row-level security") {
		return fmt.Errorf("%s may not read every row: row-level security holds for the owner of the tables too, so the user of the database URL must be "+
			"a superuser or have BYPASSRLS", program)
	}
	if err != nil {
		return fmt.Errorf("%s failed: %s", program, firstComplaint(complaint.String()))
	}
	return nil
}

// splitPassword removes the password from a database URL, where it follows the user's name
// or is in the query. Every user of the machine can read command lines, but only the owner
// of a process can read its environment.
func splitPassword(databaseURL string) (address, password string, err error) {
	tx, err := url.Parse(databaseURL)
	if err != nil {
		return "", "", errors.New("the database URL cannot be read")
	}
	query, err := url.ParseQuery(tx.RawQuery)
	if err != nil {
		return "", "", errors.New("the query of the database URL cannot be read")
	}
	if query.Has(poolMode) {
		return "", "", errors.New("the database URL leads to a connection pooler, which backups can't go through: give the address of PostgreSQL itself, " +
			"without pool_mode")
	}
	if query.Has("sslpassword") {
		return "", "", errors.New("the database URL has sslpassword, which PostgreSQL's programs take on the command line only: name an sslkey that needs none")
	}
	if beside, has := tx.User.Password(); has {
		password, tx.User = beside, url.User(tx.User.Username())
	}
	if query.Has("password") {
		password = query.Get("password")
		query.Del("password")
		tx.RawQuery = query.Encode()
	}
	return tx.String(), password, nil
}

// firstComplaint returns the first line of a program's output, without the program's name.
func firstComplaint(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if _, said, found := strings.Cut(line, "error: "); found {
		line = said
	}
	return line
}
