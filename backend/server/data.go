package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/move"
)

// Backup writes a database to a new file, while servers may be using it: a SQLite
// database, or an archive of pg_dump for PostgreSQL. The database records when: if that fails, the file is kept, and
// the error says so.
func Backup(ctx context.Context, databaseURL, file string) error {
	if err := db.Backup(ctx, databaseURL, file); err != nil {
		return err
	}
	if err := db.RecordBackup(ctx, databaseURL); err != nil {
		return fmt.Errorf("%s is a good backup, but the database could not record that: %w", file, err)
	}
	return nil
}

// backupName is the form of the names of BackupInto, a time in UTC.
const backupName = "kith-20060102T150405.000Z"

// partialKeep is how old an unfinished file of a backup is when its process cannot be running any more.
const partialKeep = 12 * time.Hour

// BackupInto writes a backup to a new file in a folder, which it makes if only its last part is missing. Then it
// removes the backups that BackupInto wrote there longer than keep ago, and what killed ones left; keep 0 keeps all.
// It returns the file and the number of removed backups.
func BackupInto(ctx context.Context, databaseURL, folder string, keep time.Duration) (file string, removed int, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", 0, fmt.Errorf("make the folder of the backups: %w", err)
	}
	now := time.Now().UTC()
	file = filepath.Join(folder, now.Format(backupName))
	if err := Backup(ctx, databaseURL, file); err != nil || keep == 0 {
		return file, 0, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return file, 0, fmt.Errorf("remove old backups: %w", err)
	}
	for _, entry := range entries {
		name, _, partial := strings.Cut(entry.Name(), ".partial")
		at, err := time.Parse(backupName, name)
		if err != nil || !entry.Type().IsRegular() {
			continue
		}
		if age := now.Sub(at); age <= keep && (!partial || age <= partialKeep) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			return file, removed, fmt.Errorf("remove an old backup: %w", err)
		}
		if !partial {
			removed++
		}
	}
	return file, removed, nil
}

// RecordBackup stores the present time as that of the last backup, for backups by other programs.
func RecordBackup(ctx context.Context, databaseURL string) error {
	return db.RecordBackup(ctx, databaseURL)
}

// Restore restores a backup into a SQLite file that must not exist, or into an empty
// PostgreSQL database.
func Restore(ctx context.Context, databaseURL, file string) error {
	return db.Restore(ctx, databaseURL, file)
}

// TableRows is what Transfer copied of one table.
type TableRows = db.TableRows

// Transfer copies all rows of a SQLite database into an empty PostgreSQL one, or the other
// way, compares them, and returns what it copied. No Kith may use either.
func Transfer(ctx context.Context, from, to string, begin func(table string)) ([]TableRows, error) {
	return db.Transfer(ctx, from, to, begin)
}

// DatabaseFile returns the path of the SQLite file of a database URL; empty for PostgreSQL.
func DatabaseFile(databaseURL string) string { return db.File(databaseURL) }

// MovedAccount describes an account that was exported or imported.
type MovedAccount struct {
	Username string
	// Rows are how many rows the file has.
	Rows int
	// Suspended reports whether the member is suspended according to the file.
	Suspended bool
	// SecondFactor reports whether the member had a second factor, which is not in the file.
	SecondFactor bool
	// Unfinished are how many jobs are not in the file because they had not ended; 0 for an import.
	Unfinished int
}

func movedAccount(a move.Account) MovedAccount {
	return MovedAccount{Username: a.Username, Rows: a.Rows, Suspended: a.Suspended, SecondFactor: a.SecondFactor, Unfinished: a.Unfinished}
}

// ExportAccount writes a member's account to a new file, completely or not at all, for ImportAccount
// in another installation. Only the file's owner can read it. With away, the member is suspended before,
// and resumed if the export fails; the file says that they are not suspended.
func (a *Admin) ExportAccount(ctx context.Context, username, file string, away bool) (m MovedAccount, err error) {
	member, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return m, err
	}
	away = away && member.SuspendedAt.IsZero() // a member who is suspended already stays suspended in both installations
	kind := account.AccountExported
	if away {
		if _, err := account.SuspendMember(ctx, a.store, username); err != nil {
			return m, err
		}
		kind = account.AccountMoved
		defer func() {
			if err != nil {
				_, resumed := account.ResumeMember(context.WithoutCancel(ctx), a.store, username)
				err = errors.Join(err, resumed)
			}
		}()
	}
	err = writeNew(file, func(out io.Writer) error {
		exported, err := move.Export(ctx, a.store, username, away, out)
		m = movedAccount(exported)
		return err
	})
	return m, a.record(ctx, err, kind, member.ID, "")
}

// ExportMember writes a member's data to a new ZIP file: the same that the member can download in the settings. It
// contains no credentials.
func (a *Admin) ExportMember(ctx context.Context, username, file string) error {
	member, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	data := a.store.Tenant(member.ID, true)
	err = writeNew(file, func(out io.Writer) error {
		about, err := export.ReadAccount(ctx, a.store, data, member.ID)
		if err != nil {
			return err
		}
		return export.WriteAccount(ctx, out, about, data, a.now())
	})
	return a.record(ctx, err, account.AccountExported, member.ID, "")
}

// writeNew writes a file that doesn't exist yet, completely or not at all. Only its owner can read it.
func writeNew(file string, write func(io.Writer) error) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists: name a new file", file)
	}
	partial := file + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the partial file of an earlier export cannot be removed: %w", err)
	}
	out, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the file cannot be written: %w", err)
	}
	err = write(out)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		_ = os.Remove(partial) // the error that caused this is returned
	}
	return err
}

// ImportAccount adds the account of a file that ExportAccount wrote, all of it or nothing. It fails with
// fault.AlreadyExists if the account, its username or its address is here already, and with fault.Invalid
// for a file that is damaged, of another version, or not written by kith. The month's credits become those of
// the plan on this installation, less what was spent.
func (a *Admin) ImportAccount(ctx context.Context, file string) (m MovedAccount, err error) {
	in, err := os.Open(file)
	if err != nil {
		return m, fmt.Errorf("the file cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	imported, err := move.Import(ctx, a.store, in)
	if err == nil {
		err = a.ledger.SetPlan(ctx, imported.Username, imported.Plan, a.now().UTC())
	}
	return movedAccount(imported), a.record(ctx, err, account.AccountImported, imported.ID, "")
}

// DeleteAccount deletes a suspended member with everything of theirs. It fails with fault.Conflict for a
// member who is not suspended.
func (a *Admin) DeleteAccount(ctx context.Context, username string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	if m.SuspendedAt.IsZero() {
		return fault.New(fault.Conflict, "%s is not suspended: suspend the member first, so that nobody loses an account in use", username)
	}
	if err := account.DeleteMember(ctx, a.store, m.ID); err != nil {
		return err
	}
	// The member's rows are deleted, so the event names the member only by the hash.
	a.events.Record(ctx, account.SecurityEvent{Kind: account.AccountDeleted, Subject: account.SubjectOf(m.ID), Device: account.CommandLine})
	return nil
}
