package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/server"
)

type memberCommand struct {
	Create  memberCreate  `cmd:"" help:"Create a member; asks at a terminal for what is not given."`
	List    memberList    `cmd:"" help:"List all members."`
	Set     memberSet     `cmd:"" help:"Set a member's time zone or locale."`
	SetPlan memberSetPlan `cmd:"" help:"Set a member's plan."`
	Limit   memberLimit   `cmd:"" help:"Give a member other limits than all have."`
	Find    memberFind    `cmd:"" help:"Print the username of the member with an id, an email address or a credential."`
	Export  memberExport  `cmd:"" help:"Write a member's data to a ZIP file for them, without credentials, as they can download it."`

	SetPassword  memberSetPassword  `cmd:"" help:"Set a member's password, read from standard input, and revoke all their login sessions, agents and personal tokens."`
	VerifyEmail  memberVerifyEmail  `cmd:"" help:"Mark a member's email address as verified."`
	Revoke       memberRevoke       `cmd:"" help:"Revoke all login sessions, agents and personal tokens of a member."`
	ResetFactors memberResetFactors `cmd:"" help:"Remove all second factors and recovery codes of a member, and end their login sessions: the password alone signs in again."`

	Suspend memberSuspend `cmd:"" help:"Suspend a member: refuse all their access and hide their profile."`
	Resume  memberResume  `cmd:"" help:"Resume a suspended member."`
}

type memberCreate struct {
	Username      string `arg:"" optional:"" help:"3 to 30 lower-case letters, digits and hyphens."`
	Email         string `placeholder:"ADDRESS" help:"Email address."`
	PasswordStdin bool   `help:"Read the password from standard input, so that it is in no process list. Without it the terminal asks."`
	Plan          string `default:"free" help:"free or pro."`
}

// maxPasswordLine bounds what is read as a password, in bytes.
const maxPasswordLine = 4096

func (p *program) readPassword() (string, error) {
	line, err := io.ReadAll(io.LimitReader(p.in, maxPasswordLine))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

func (c memberCreate) Run(p *program) error {
	password, err := c.complete(p)
	if err != nil {
		return err
	}
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.CreateMember(p.ctx, server.NewMember{Username: c.Username, Email: c.Email, Password: password, Plan: c.Plan}); err != nil {
			return err
		}
		return p.print("Member %s was created. Create a token with: kith token create %s --name laptop", c.Username, c.Username)
	})
}

// complete asks for what the command line does not give, and returns the password.
func (c *memberCreate) complete(p *program) (password string, err error) {
	if c.PasswordStdin {
		if c.Username == "" || c.Email == "" {
			return "", errors.New("give USERNAME and --email: standard input is the password")
		}
		return p.readPassword()
	}
	t, ok := p.terminal()
	if !ok {
		return "", errors.New("give USERNAME, --email and --password-stdin: there is no terminal to ask at")
	}
	if c.Username == "" {
		c.Username, err = t.ask("Username: ")
	}
	if err == nil && c.Email == "" {
		c.Email, err = t.ask("E-mail address: ")
	}
	if err != nil {
		return "", err
	}
	return t.askNewPassword()
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

type memberSet struct {
	Username string `arg:""`
	Timezone string `placeholder:"ZONE" help:"IANA name of the time zone in which the member's days are counted, such as Europe/Berlin."`
	Locale   string `placeholder:"TAG" help:"BCP 47 tag of the member's language and country, such as de-DE."`
}

func (c memberSet) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		now, at, err := a.SetSettings(p.ctx, c.Username, server.NewSettings{Timezone: c.Timezone, Locale: c.Locale})
		if err != nil {
			return err
		}
		return p.print("Member %s has the time zone %s, where it is %s, and the locale %s.", c.Username, now.Timezone, at.Format("2006-01-02 15:04"), now.Locale)
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
		return p.print("Member %s has the plan %s.", c.Username, c.Plan)
	})
}

type memberLimit struct {
	Username string `arg:""`
	Credits  string `placeholder:"N|plan" help:"Credits of a month, or plan for those of the plan."`
	Storage  string `placeholder:"MIB|default" help:"MiB of photos, uploaded files and recorded changes, 0 for no limit, or default for KITH_MEMBER_STORAGE."`
}

func (c memberLimit) Run(p *program) error {
	if c.Credits == "" && c.Storage == "" {
		return errors.New("give --credits, --storage, or both")
	}
	var credits *int
	if c.Credits != "" && c.Credits != "plan" {
		n, err := strconv.Atoi(c.Credits)
		if err != nil {
			return fmt.Errorf("--credits %q must be a number, or plan", c.Credits)
		}
		credits = &n
	}
	var storage *int64
	if c.Storage != "" && c.Storage != "default" {
		n, err := strconv.ParseInt(c.Storage, 10, 64)
		if err != nil {
			return fmt.Errorf("--storage %q must be a number of MiB, or default", c.Storage)
		}
		storage = &n
	}
	return p.withAdmin(func(a *server.Admin) error {
		if c.Credits != "" {
			if err := a.SetCredits(p.ctx, c.Username, credits); err != nil {
				return err
			}
			if err := p.print("The monthly credits of %s are set.", c.Username); err != nil {
				return err
			}
		}
		if c.Storage == "" {
			return nil
		}
		if err := a.SetStorage(p.ctx, c.Username, storage); err != nil {
			return err
		}
		return p.print("The storage limit of %s is set.", c.Username)
	})
}

type memberFind struct {
	Sought string `arg:"" name:"id" help:"An id of a member (mem_…), a token (pat_…) or a grant (grt_…); an email address; or the id of a request (req_…), with the service's log on standard input."`
}

// credentialInLog matches the id of a personal token or a grant in a log line.
var credentialInLog = regexp.MustCompile(`\b(?:pat|grt)_[0-9A-Z]{26}\b`)

func (c memberFind) Run(p *program) error {
	if strings.HasPrefix(c.Sought, "req_") {
		lines := bufio.NewScanner(p.in)
		lines.Buffer(nil, 1<<20)
		found := ""
		for found == "" && lines.Scan() {
			if strings.Contains(lines.Text(), c.Sought) {
				found = credentialInLog.FindString(lines.Text())
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read the log on standard input: %w", err)
		}
		if found == "" {
			return fmt.Errorf("no line on standard input has %s with a credential: pass the log of an edge or a backend, such as with journalctl -u kith", c.Sought)
		}
		c.Sought = found
	}
	return p.withAdmin(func(a *server.Admin) error {
		username, err := a.FindMember(p.ctx, c.Sought)
		if err != nil {
			return err
		}
		return p.print("%s", username)
	})
}

type memberExport struct {
	Username string `arg:""`
	File     string `arg:"" optional:"" help:"The file to write, which must not exist. Default: kith-export-USERNAME-DATE.zip in the current folder."`
}

func (c memberExport) Run(p *program) error {
	if c.File == "" {
		c.File = "kith-export-" + c.Username + "-" + time.Now().UTC().Format(time.DateOnly) + ".zip"
	}
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.ExportMember(p.ctx, c.Username, c.File); err != nil {
			return err
		}
		return p.print("The data of %s was written to %s.", c.Username, c.File)
	})
}

type memberSetPassword struct {
	Username      string `arg:""`
	PasswordStdin bool   `required:"" help:"Read the password from standard input, so that it is in no process list."`
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
		return p.print("The password of %s is set. All login sessions, agents and personal tokens are revoked.", c.Username)
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
		return p.print("The email address %s of %s is marked as verified.", email, c.Username)
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
		return p.print("All login sessions, agents and personal tokens of %s are revoked.", c.Username)
	})
}

type memberResetFactors struct {
	Username string `arg:""`
}

func (c memberResetFactors) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.ResetFactors(p.ctx, c.Username); err != nil {
			return err
		}
		return p.print("The second factors and recovery codes of %s are removed, and their login sessions ended. If the password may be known to somebody else: kith member set-password %s", c.Username, c.Username)
	})
}

type memberSuspend struct {
	Username string `arg:""`
}

func (c memberSuspend) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.Suspend(p.ctx, c.Username); err != nil {
			return err
		}
		return p.print("Member %s is suspended. To resume the member: kith member resume %s", c.Username, c.Username)
	})
}

type memberResume struct {
	Username string `arg:""`
}

func (c memberResume) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.Resume(p.ctx, c.Username); err != nil {
			return err
		}
		return p.print("Member %s is active again.", c.Username)
	})
}
