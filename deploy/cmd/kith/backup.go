package main

import (
	"github.com/kith-crm/kith/backend/server"
)

type backupCommand struct {
	File string `arg:"" help:"The file to write, which must not exist."`
}

func (c backupCommand) Run(p *program) error {
	if err := server.Backup(p.ctx, p.settings.DatabaseURL, c.File); err != nil {
		return err
	}
	return p.print("The database was written to %s. Keep the file safe: it contains all data of the members, and the hashes of their passwords and tokens.", c.File)
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
