package main

import (
	"fmt"

	"github.com/kith-crm/kith/backend/server"
)

type deviceCommand struct {
	Create deviceCreate `cmd:"" help:"Create an app password with which the address book of a device synchronises a member's people. It is the last line of the output and is not shown again."`
	List   deviceList   `cmd:"" help:"List a member's devices."`
	Revoke deviceRevoke `cmd:"" help:"Remove a device: its app password ends."`
}

type deviceCreate struct {
	Username string `arg:""`
	Name     string `required:"" help:"The name of the device, such as phone."`
	ReadOnly bool   `help:"Let the device read people and change nothing."`
}

func (c deviceCreate) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		made, password, err := a.CreateDevice(p.ctx, c.Username, c.Name, c.ReadOnly)
		if err == nil {
			_, err = fmt.Fprintf(p.out, "Device %s (%s) of %s %s.\nKeep the app password below: it is not shown again.\n%s\n", made.Name, made.ID, c.Username, mayDo(made), password)
		}
		return err
	})
}

func mayDo(d server.DeviceInfo) string {
	if d.ReadOnly {
		return "reads people"
	}
	return "reads and changes people"
}

type deviceList struct {
	Username string `arg:""`
}

func (c deviceList) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		devices, err := a.ListDevices(p.ctx, c.Username)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "NAME", "ACCESS", "CREATED", "LAST USED"}}
		for _, d := range devices {
			rows = append(rows, []string{d.ID, d.Name, mayDo(d), date(d.CreatedAt), date(d.LastUsedAt)})
		}
		return table(p.out, rows)
	})
}

type deviceRevoke struct {
	Username string `arg:""`
	ID       string `arg:"" help:"The device's id, from kith device list."`
}

func (c deviceRevoke) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		if err := a.RemoveDevice(p.ctx, c.Username, c.ID); err != nil {
			return err
		}
		return p.print("The device %s is removed.", c.ID)
	})
}
