package main

import (
	"context"
	"fmt"

	backend "github.com/kith-crm/kith/backend/server"
)

type ownerLinkCommand struct{}

func (ownerLinkCommand) Run(p *program) error {
	if err := p.settings.resolve(); err != nil {
		return err
	}
	return p.withQuietAdmin(func(a *backend.Admin) error {
		link, err := a.OwnerLink(p.ctx, p.settings.BaseURL)
		if err != nil {
			return err
		}
		return p.print("%s", link)
	})
}

// announceOwnerLink prints how to create the first member, if there is none. If the database fails,
// the service starts without the link: kith owner-link prints another one.
func (r *process) announceOwnerLink(core *backend.Server) error {
	link, err := core.OwnerLink(context.WithoutCancel(r.ctx))
	if err != nil {
		r.logger.Warn("cannot make an owner link", "error", err)
	}
	if link == "" {
		return nil
	}
	_, err = fmt.Fprintf(r.out, "\nThere is no member yet. Open this link to create your account; it works once, for %.0f minutes.\n"+
		"For a new one: kith owner-link\n\n  %s\n\n", backend.OwnerLinkLifetime.Minutes(), link)
	return err
}
