package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/server"
)

type migrateDataCommand struct {
	From string `arg:"" help:"The database to copy, such as sqlite:kith-data/kith.db. No kith may be running on it."`
	To   string `arg:"" help:"An empty database, such as postgres://kith@db.example/kith. Its password comes from PGPASSWORD or PGPASSFILE."`
}

func (c migrateDataCommand) Run(p *program) error {
	for _, address := range []string{c.From, c.To} {
		if err := checkNoPassword(address); err != nil {
			return err
		}
	}
	copied, err := server.Transfer(p.ctx, c.From, c.To, func(table string) {
		_, _ = fmt.Fprintf(p.err, "copying %s\n", table)
	})
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	var rows int64
	list := [][]string{{"TABLE", "ROWS", "DIGEST"}}
	for _, t := range copied {
		list = append(list, []string{t.Table, strconv.FormatInt(t.Rows, 10), t.Digest})
		rows += t.Rows
	}
	if err := table(p.out, list); err != nil {
		return err
	}
	return p.print("%d rows of %d tables were copied, and are the same in both databases. Start kith with KITH_DATABASE_URL set to the new one, and with "+
		"KITH_SECRET_KEY_FILE set to the file that it used so far: the secret key is in neither database.", rows, len(copied))
}

// checkNoPassword refuses an address with a password: every user of a machine can read
// command lines.
func checkNoPassword(address string) error {
	if !strings.Contains(address, "://") {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("a database address cannot be read")
	}
	_, has := u.User.Password()
	if has || u.Query().Has("password") || u.Query().Has("sslpassword") {
		return errors.New("the address has a password, which every user of this machine can read: leave it out, and set PGPASSWORD or PGPASSFILE")
	}
	return nil
}
