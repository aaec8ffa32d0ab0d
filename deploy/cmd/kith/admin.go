package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kith-crm/kith/backend/server"
	"github.com/kith-crm/kith/observability/logging"
)

type migrateCommand struct {
	Wait bool `help:"Migrate nothing, but wait until another process has migrated the database to this version."`
}

func (c migrateCommand) Run(p *program) error {
	if c.Wait {
		return c.wait(p)
	}
	done, err := server.Migrate(p.ctx, p.settings.DatabaseURL, p.settings.BackUpBefore)
	switch {
	case err != nil:
		return err
	case done.Applied == 0:
		return p.print("The database is up to date.")
	case done.Backup != "":
		return p.print("Applied %d migrations. The database as it was before is in %s. To go back, %s.", done.Applied, done.Backup, goBack)
	}
	return p.print("Applied %d migrations.", done.Applied)
}

// goBack is how to use the backup that an upgrade made.
const goBack = "stop kith, move the database with its -wal and -shm elsewhere, and let the version before run `kith restore` with that file"

// waitEvery is the interval at which wait looks at the database.
const waitEvery = time.Second

// wait returns once the database has the schema of this version. While it waits, it writes each new cause once.
func (migrateCommand) wait(p *program) error {
	said := ""
	for {
		err := server.CheckSchema(p.ctx, p.settings.DatabaseURL, p.settings.AcceptNewer)
		if err == nil {
			return p.print("The database is up to date.")
		}
		if server.IsNewerSchema(err) {
			return err
		}
		if said != err.Error() {
			said = err.Error()
			if _, err := fmt.Fprintf(p.err, "kith: waiting: %s\n", said); err != nil {
				return err
			}
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-time.After(waitEvery):
		}
	}
}

type configCommand struct{}

func (configCommand) Run(p *program) error {
	if err := p.settings.resolve(); err != nil {
		return err
	}
	return p.settings.print(p.out)
}

type versionCommand struct{}

func (versionCommand) Run(p *program) error { return p.print("%s", p.build) }

// print writes one line to standard output.
func (p *program) print(format string, args ...any) error {
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	return err
}

// withAdmin calls fn with the database, which must exist and have the schema of this version: only serve,
// backend, migrate and restore make one. Security events are logged to standard error.
func (p *program) withAdmin(fn func(a *server.Admin) error) error {
	logger, err := logging.New(p.err, p.settings.LogLevel, p.settings.LogFormat)
	if err != nil {
		return err
	}
	return p.withAdminLogging(logger, fn)
}

// withQuietAdmin is withAdmin without a log, for commands whose output says what they
// did. Security events are stored in the database only.
func (p *program) withQuietAdmin(fn func(a *server.Admin) error) error {
	return p.withAdminLogging(slog.New(slog.DiscardHandler), fn)
}

func (p *program) withAdminLogging(logger *slog.Logger, fn func(a *server.Admin) error) (err error) {
	admin, err := server.OpenAdmin(p.ctx, p.settings.DatabaseURL, p.settings.credits(), logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	admin.RefuseBreached(p.settings.breached())
	return fn(admin)
}

func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func table(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
