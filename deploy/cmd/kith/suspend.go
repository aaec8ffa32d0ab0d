package main

import (
	"fmt"
	"strconv"

	"github.com/kith-crm/kith/backend/server"
)

type memberSuspend struct {
	Username string `arg:""`
}

func (c memberSuspend) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		if err := a.Suspend(p.ctx, c.Username); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "Member %s is suspended: nothing of theirs works until: kith member resume %s\n", c.Username, c.Username)
		return err
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
		_, err := fmt.Fprintf(p.out, "Member %s is active again.\n", c.Username)
		return err
	})
}

type clientCommand struct {
	List   clientList   `cmd:"" help:"List the OAuth clients that members have allowed."`
	Revoke clientRevoke `cmd:"" help:"End all grants of an OAuth client, of all members."`
}

type clientList struct{}

func (clientList) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		clients, err := a.ListClients(p.ctx)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "NAME", "GRANTS", "REGISTERED", "LAST USED"}}
		for _, c := range clients {
			rows = append(rows, []string{c.ID, strconv.Quote(c.Name), strconv.Itoa(c.Grants), date(c.CreatedAt), date(c.LastUsedAt)})
		}
		return table(p.out, rows)
	})
}

type clientRevoke struct {
	ID string `arg:"" help:"The client's id, from kith client list."`
}

func (c clientRevoke) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		n, err := a.RevokeClient(p.ctx, c.ID)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "Client %s has lost its access: %d grants are ended.\n", c.ID, n)
		return err
	})
}
