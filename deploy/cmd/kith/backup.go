package main

import (
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/server"
)

type backupCommand struct {
	File     string `arg:"" optional:"" help:"The file to write, which must not exist. Default: a new file in KITH_BACKUP_DIR, named by the time."`
	External bool   `help:"Write no backup, but record that another program has just backed up the whole database."`
}

// keepSafe is what the owner of a backup should know.
const keepSafe = "Keep the file safe: it contains all data of the members, and the hashes of their passwords and tokens."

func (c backupCommand) Run(p *program) error {
	switch {
	case c.External && c.File != "":
		return errors.New("--external writes no file: leave the file out")
	case p.settings.BackupKeep < 0:
		return fmt.Errorf("KITH_BACKUP_KEEP %s is negative: use 0 to keep all backups", p.settings.BackupKeep)
	case c.External:
		if err := server.RecordBackup(p.ctx, p.settings.DatabaseURL); err != nil {
			return err
		}
		return p.print("Recorded that the database was backed up just now.")
	case c.File != "":
		if err := server.Backup(p.ctx, p.settings.DatabaseURL, c.File); err != nil {
			return err
		}
		return p.print("The database was written to %s. "+keepSafe, c.File)
	case p.settings.BackupDir == "":
		return errors.New("name the file to write, or set KITH_BACKUP_DIR to a folder for backups")
	}
	file, removed, err := server.BackupInto(p.ctx, p.settings.DatabaseURL, p.settings.BackupDir, p.settings.BackupKeep)
	if err != nil {
		return err
	}
	if removed > 0 {
		return p.print("The database was written to %s, and %d older backups were removed. "+keepSafe, file, removed)
	}
	return p.print("The database was written to %s. "+keepSafe, file)
}

type restoreCommand struct {
	File string `arg:"" help:"A file that kith backup wrote."`
}

func (c restoreCommand) Run(p *program) error {
	if err := server.Restore(p.ctx, p.settings.DatabaseURL, c.File); err != nil {
		return err
	}
	return p.print("The database was restored. Migrate it to this version with: kith migrate")
}
