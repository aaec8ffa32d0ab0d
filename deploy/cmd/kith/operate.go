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

type migrateCommand struct{}

func (migrateCommand) Run(p *program) error {
	applied, err := server.Migrate(p.ctx, p.settings.DatabaseURL)
	if err != nil {
		return err
	}
	if applied == 0 {
		_, err = fmt.Fprintln(p.out, "The database is up to date.")
		return err
	}
	_, err = fmt.Fprintf(p.out, "The database was brought up to date in %d steps.\n", applied)
	return err
}

type configCommand struct{}

func (configCommand) Run(p *program) error {
	if err := p.settings.resolve(); err != nil {
		return err
	}
	return p.settings.print(p.out)
}

type versionCommand struct{}

func (versionCommand) Run(p *program) error {
	_, err := fmt.Fprintln(p.out, p.build)
	return err
}

// withAdmin runs fn on the database, which is migrated first where that is on,
// so that members can be made before the service ever ran. Security events are
// lines on standard error.
func (p *program) withAdmin(fn func(a *server.Admin) error) error {
	logger, err := logging.New(p.err, p.settings.LogLevel, p.settings.LogFormat)
	if err != nil {
		return err
	}
	return p.withAdminAnd(logger, fn)
}

// withQuietAdmin is withAdmin for commands whose output says what was done; their
// security events are rows only.
func (p *program) withQuietAdmin(fn func(a *server.Admin) error) error {
	return p.withAdminAnd(slog.New(slog.DiscardHandler), fn)
}

func (p *program) withAdminAnd(logger *slog.Logger, fn func(a *server.Admin) error) (err error) {
	if p.settings.AutoMigrate {
		if _, err := server.Migrate(p.ctx, p.settings.DatabaseURL); err != nil {
			return err
		}
	}
	admin, err := server.OpenAdmin(p.ctx, p.settings.DatabaseURL, p.settings.credits(), logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	return fn(admin)
}

type memberCommand struct {
	Create  memberCreate  `cmd:"" help:"Create a member; the password is read from standard input."`
	List    memberList    `cmd:"" help:"List all members."`
	SetPlan memberSetPlan `cmd:"" help:"Set a member's plan."`

	SetPassword memberSetPassword `cmd:"" help:"Set a member's password, read from standard input, and end all of their login sessions, agents and personal tokens."`
	VerifyEmail memberVerifyEmail `cmd:"" help:"Mark a member's e-mail address as confirmed."`
	Revoke      memberRevoke      `cmd:"" help:"End all login sessions, agents and personal tokens of a member."`
	Suspend     memberSuspend     `cmd:"" help:"Suspend a member and hide their page, until kith member resume."`
	Resume      memberResume      `cmd:"" help:"End the suspension of a member."`
}

type memberCreate struct {
	Username      string `arg:"" help:"3 to 30 lower-case letters, digits and hyphens."`
	Email         string `required:"" help:"E-mail address."`
	PasswordStdin bool   `required:"" help:"Read the password from standard input, so that no process list shows it."`
	Plan          string `default:"free" help:"free or pro."`
}

// maxPasswordLine bounds what is read as a password, in bytes.
const maxPasswordLine = 4096

func (p *program) readPassword() (string, error) {
	line, err := io.ReadAll(io.LimitReader(p.in, maxPasswordLine))
	if err != nil {
		return "", fmt.Errorf("the password cannot be read: %w", err)
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

func (c memberCreate) Run(p *program) error {
	password, err := p.readPassword()
	if err != nil {
		return err
	}
	return p.withAdmin(func(a *server.Admin) error {
		err := a.CreateMember(p.ctx, server.NewMember{Username: c.Username, Email: c.Email, Password: password, Plan: c.Plan})
		if err == nil {
			_, err = fmt.Fprintf(p.out, "Member %s was created. Make a token with: kith token create %s --name laptop\n", c.Username, c.Username)
		}
		return err
	})
}

type memberList struct{}

func (memberList) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		members, err := a.ListMembers(p.ctx)
		if err != nil {
			return err
		}
		rows := [][]string{{"USERNAME", "EMAIL", "PLAN", "CREATED", "STATE"}}
		for _, m := range members {
			state := "active"
			if m.Suspended {
				state = "suspended"
			}
			rows = append(rows, []string{m.Username, m.Email, m.Plan, date(m.CreatedAt), state})
		}
		return table(p.out, rows)
	})
}

type memberSetPlan struct {
	Username string `arg:""`
	Plan     string `arg:"" help:"free or pro."`
}

func (c memberSetPlan) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.SetPlan(p.ctx, c.Username, c.Plan); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "Member %s is on the plan %s.\n", c.Username, c.Plan)
		return err
	})
}

type memberSetPassword struct {
	Username      string `arg:""`
	PasswordStdin bool   `required:"" help:"Read the password from standard input, so that no process list shows it."`
}

func (c memberSetPassword) Run(p *program) error {
	password, err := p.readPassword()
	if err != nil {
		return err
	}
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.SetPassword(p.ctx, c.Username, password); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "The password of %s is set. Every browser is signed out, and no agent or personal token works any more.\n", c.Username)
		return err
	})
}

type memberVerifyEmail struct {
	Username string `arg:""`
}

func (c memberVerifyEmail) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		email, err := a.VerifyEmail(p.ctx, c.Username)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "The address %s of %s counts as verified.\n", email, c.Username)
		return err
	})
}

type memberRevoke struct {
	Username string `arg:""`
}

func (c memberRevoke) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.RevokeEverything(p.ctx, c.Username); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "Every login session, agent and personal token of %s is ended.\n", c.Username)
		return err
	})
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
