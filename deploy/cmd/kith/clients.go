package main

import (
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/server"
)

type clientCommand struct {
	List   clientList   `cmd:"" help:"List the OAuth clients that members have authorized."`
	Show   clientShow   `cmd:"" help:"Show an OAuth client, and which members have authorized it."`
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

type clientShow struct {
	ID string `arg:"" help:"The client's id, from kith client list."`
}

func (c clientShow) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		client, err := a.GetClient(p.ctx, c.ID)
		if err != nil {
			return err
		}
		rows := [][]string{
			{"ID", client.ID}, {"NAME", strconv.Quote(client.Name)}, {"WEBSITE", strconv.Quote(client.URI)},
			{"REGISTERED", date(client.CreatedAt)}, {"LAST USED", date(client.LastUsedAt)},
		}
		for _, uri := range client.RedirectURIs {
			rows = append(rows, []string{"REDIRECTS TO", strconv.Quote(uri)})
		}
		if err := table(p.out, rows); err != nil || len(client.Grants) == 0 {
			return err
		}
		grants := [][]string{{"", "", "", "", ""}, {"MEMBER", "SCOPES", "SINCE", "LAST USED", "STATE"}}
		for _, g := range client.Grants {
			state := "active"
			if g.Paused {
				state = "paused"
			}
			grants = append(grants, []string{g.Username, strings.Join(g.Scopes, " "), date(g.CreatedAt), date(g.LastUsedAt), state})
		}
		return table(p.out, grants)
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
