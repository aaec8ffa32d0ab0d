package main

import (
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/server"
)

type feedCommand struct {
	Create feedCreate `cmd:"" help:"Make a calendar feed, to which calendar programs subscribe. Its address is the last line of the output and is not shown again."`
	List   feedList   `cmd:"" help:"List a member's calendar feeds."`
	Revoke feedRevoke `cmd:"" help:"Remove a calendar feed: its address stops working."`
}

type feedCreate struct {
	Username string   `arg:""`
	Name     string   `required:"" help:"The name of the calendar, such as birthdays."`
	Part     []string `help:"What it has: birthdays, dates, reminders or keep_in_touch. Repeat it for several. Without one, it has all."`
}

func (c feedCreate) Run(p *program) error {
	if err := p.settings.resolve(); err != nil {
		return err
	}
	return p.withQuietAdmin(func(a *server.Admin) error {
		made, address, err := a.CreateFeed(p.ctx, p.settings.BaseURL, c.Username, c.Name, c.Part)
		if err == nil {
			_, err = fmt.Fprintf(p.out, "Calendar feed %s (%s) of %s.\nKeep the address below: it is not shown again.\n%s\n", made.Name, made.ID, c.Username, address)
		}
		return err
	})
}

type feedList struct {
	Username string `arg:""`
}

func (c feedList) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		feeds, err := a.ListFeeds(p.ctx, c.Username)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "NAME", "PARTS", "CREATED", "LAST READ"}}
		for _, f := range feeds {
			rows = append(rows, []string{f.ID, f.Name, strings.Join(f.Parts, " "), date(f.CreatedAt), date(f.LastUsedAt)})
		}
		return table(p.out, rows)
	})
}

type feedRevoke struct {
	Username string `arg:""`
	ID       string `arg:"" help:"The feed's id, from kith feed list."`
}

func (c feedRevoke) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		if err := a.RemoveFeed(p.ctx, c.Username, c.ID); err != nil {
			return err
		}
		return p.print("The calendar feed %s is removed.", c.ID)
	})
}
