package main

import (
	"strconv"

	"github.com/kith-crm/kith/backend/server"
)

type clientCommand struct {
	List   clientList   `cmd:"" help:"List the OAuth clients that members have authorized."`
	Revoke clientRevoke `cmd:"" help:"Revoke all grants of an OAuth client, of all members."`
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
		return p.print("Revoked %d grants of the client %s.", n, c.ID)
	})
}
