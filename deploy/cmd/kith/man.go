package main

import (
	"fmt"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/muesli/roff"
)

type manCommand struct{}

// Help returns the details of the command's help.
func (manCommand) Help() string { return "To read it: kith man | man -l -" }

// Run prints the manual page, which is generated from the same declarations as --help.
func (manCommand) Run(parsed *kong.Context, p *program) error {
	_, err := fmt.Fprint(p.out, mangokong.NewManPage(1, parsed.Model).Build(roff.NewDocument()))
	return err
}
