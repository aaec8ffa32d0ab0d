package main

import (
	"time"

	"github.com/kith-crm/kith/backend/server"
)

type auditCommand struct {
	Username string `arg:""`
	Limit    int    `default:"100" help:"How many of the latest events, at most 10000."`
}

// maxAudit bounds what is printed, in events.
const maxAudit = 10_000

func (c auditCommand) Run(p *program) error {
	return p.withAdmin(func(a *server.Admin) error {
		events, err := a.ListEvents(p.ctx, c.Username, min(max(c.Limit, 1), maxAudit))
		if err != nil {
			return err
		}
		rows := [][]string{{"TIME", "EVENT", "DEVICE", "NETWORK", "OBJECT"}}
		for _, e := range events {
			at := e.At.UTC().Format(time.RFC3339)
			if !e.LastAt.Equal(e.At) {
				at += " to " + e.LastAt.UTC().Format(time.RFC3339)
			}
			rows = append(rows, []string{at, e.Sentence, dash(e.Device), dash(e.Network), dash(e.ObjectID)})
		}
		return table(p.out, rows)
	})
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
