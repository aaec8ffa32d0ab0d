package main

import (
	"fmt"

	"github.com/kith-crm/kith/backend/server"
)

type backupCommand struct {
	File string `arg:"" help:"The file to write, which must not exist."`
}

func (c backupCommand) Run(p *program) error {
	if err := server.Backup(p.ctx, p.settings.DatabaseURL, c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "The database was written to %s. Keep it safe: it holds all that members keep, and the hashes of their passwords and tokens.\n", c.File)
	return err
}

type restoreCommand struct {
	File string `arg:"" help:"A file that kith backup wrote."`
}

func (c restoreCommand) Run(p *program) error {
	if err := server.Restore(p.ctx, p.settings.DatabaseURL, c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.out, "The database was restored. Bring it up to this version with: kith migrate")
	return err
}
