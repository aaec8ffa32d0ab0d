package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/server"
)

type accountCommand struct {
	Export accountExport `cmd:"" help:"Write a member's whole account to a file, to import it into another installation; --move suspends it here. The file has the hash of their password: for the member themselves, use kith member export."`
	Import accountImport `cmd:"" help:"Import an account that another installation exported."`
	Delete accountDelete `cmd:"" help:"Delete a suspended member with everything of theirs, for good."`
}

type accountExport struct {
	Username string `arg:""`
	File     string `arg:"" optional:"" help:"The file to write, which must not exist. Default: kith-account-USERNAME-DATE.gz in the current folder."`
	Move     bool   `help:"Suspend the member before, so that nothing is written here any more; if the export fails, the member is resumed."`
}

func (c accountExport) Run(p *program) error {
	if c.File == "" {
		c.File = "kith-account-" + c.Username + "-" + time.Now().UTC().Format(time.DateOnly) + ".gz"
	}
	return p.withAdmin(func(a *server.Admin) error {
		m, err := a.ExportAccount(p.ctx, c.Username, c.File, c.Move)
		if err != nil {
			return err
		}
		said := []string{fmt.Sprintf("The account of %s was written to %s, %d rows.", c.Username, c.File, m.Rows)}
		if m.Unfinished > 0 {
			said = append(said, fmt.Sprintf("%d of their jobs had not ended and are not in the file.", m.Unfinished))
		}
		if c.Move {
			said = append(said, fmt.Sprintf("The member is suspended here. When the account works in the other installation: kith account delete %s --confirm %s", c.Username, c.Username))
		}
		return p.print("%s\nKeep the file safe: it contains what the member wrote, and credentials: the hash of their password. Import it with: kith account import %s", strings.Join(said, " "), c.File)
	})
}

type accountImport struct {
	File string `arg:"" help:"A file that kith account export wrote."`
}

func (c accountImport) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		m, err := a.ImportAccount(p.ctx, c.File)
		if err != nil {
			return err
		}
		said := []string{fmt.Sprintf("The account of %s was imported, %d rows. They sign in with the same password; agents and tokens have to be allowed again.", m.Username, m.Rows)}
		if m.SecondFactor {
			said = append(said, "Their second factor was not moved: until they set up a new one, the password alone signs in.")
		}
		if m.Suspended {
			said = append(said, "The member is suspended, as in the other installation: kith member resume "+m.Username)
		}
		return p.print("%s", strings.Join(said, "\n"))
	})
}

type accountDelete struct {
	Username string `arg:""`
	Confirm  string `required:"" placeholder:"USERNAME" help:"The username again."`
}

func (c accountDelete) Run(p *program) error {
	if c.Confirm != c.Username {
		return fmt.Errorf("--confirm %s is another name than %s: nothing was deleted", c.Confirm, c.Username)
	}
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.DeleteAccount(p.ctx, c.Username); err != nil {
			return err
		}
		return p.print("The account of %s is deleted.", c.Username)
	})
}
