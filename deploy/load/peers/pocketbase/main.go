// Command pocketbase is PocketBase with a public collection of the people.
package main

import (
	"os"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	set := data.Load()
	dir, err := os.MkdirTemp("", "kith-pocketbase-")
	data.Must(err)
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: dir, HideStartBanner: true})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		c := core.NewBaseCollection("people")
		c.ViewRule, c.ListRule = new(""), new("")
		for _, name := range []string{"name", "email", "organization", "title", "city"} {
			c.Fields.Add(&core.TextField{Name: name})
		}
		if err := app.Save(c); err != nil {
			return err
		}
		err := app.RunInTransaction(func(tx core.App) error {
			for _, p := range set.People {
				r := core.NewRecord(c)
				r.Id = p.ID[len(p.ID)-15:] // the length of its ids
				r.Load(map[string]any{"name": p.Name, "email": p.Email, "organization": p.Organization, "title": p.Title, "city": p.City})
				if err := tx.SaveNoValidate(r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return e.Next()
	})
	os.Args = []string{os.Args[0], "serve", "--http", *data.Addr}
	data.Must(app.Start())
}
