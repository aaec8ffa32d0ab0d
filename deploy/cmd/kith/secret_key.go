package main

import (
	"github.com/kith-crm/kith/backend/server"
)

type secretCommand struct {
	Create secretCreate `cmd:"" help:"Create the file of KITH_SECRET_KEY_FILE with a new key, unless it exists."`
	Rotate secretRotate `cmd:"" help:"Replace the key by a new one, and encrypt again what was encrypted with the old one."`
}

type secretCreate struct {
	Lost bool `help:"Make a new key in place of one that was lost. Members who use one-time codes sign in with a recovery code and set them up again."`
}

func (c secretCreate) Run(p *program) error {
	if c.Lost {
		return p.withQuietAdmin(func(a *server.Admin) error {
			path, lost, err := a.ReplaceLostKey(p.ctx, p.settings.SecretKeyFile)
			if err != nil {
				return err
			}
			return p.print("A new secret key is in %s. %d members need a recovery code to sign in, and have to set up one-time codes again.", path, lost)
		})
	}
	path, err := server.CreateSecretKey(p.settings.DatabaseURL, p.settings.SecretKeyFile)
	if err != nil {
		return err
	}
	return p.print("The secret key is in %s. Keep a copy apart from the backups of the database, and give every backend the same file.", path)
}

type secretRotate struct{}

func (secretRotate) Run(p *program) error {
	return p.withQuietAdmin(func(a *server.Admin) error {
		n, err := a.RotateSecretKey(p.ctx, p.settings.SecretKeyFile)
		if err != nil {
			return err
		}
		return p.print("The secret key is new, and %d secrets are encrypted with it. The old key is of no use any more: copy the file to every backend and to your backup of it.", n)
	})
}
