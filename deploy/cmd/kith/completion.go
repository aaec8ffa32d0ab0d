package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the details of the command's help.
func (completionCommand) Help() string {
	return "To use it: source <(kith completion bash); kith completion zsh >~/.zfunc/_kith; kith completion fish >~/.config/fish/completions/kith.fish"
}

// Run prints a script that completes commands and flags, made from the same declarations as --help.
func (c completionCommand) Run(parsed *kong.Context, p *program) error {
	script := map[string]func([]completed) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := fmt.Fprint(p.out, script(completions(parsed.Model)))
	return err
}

// completed is a command, "" for the program itself, and what may follow it.
type completed struct {
	path     string
	commands []*kong.Node
	flags    []*kong.Flag
}

// completions returns all commands. Flags of the service's settings are listed with the program only.
func completions(model *kong.Application) []completed {
	var all []completed
	var visit func(node *kong.Node, path string)
	visit = func(node *kong.Node, path string) {
		all = append(all, completed{path, node.Children, slices.DeleteFunc(slices.Clone(node.Flags), func(f *kong.Flag) bool { return f.Hidden })})
		for _, child := range node.Children {
			visit(child, strings.TrimSpace(path+" "+child.Name))
		}
	}
	visit(model.Node, "")
	return all
}

// words returns what may follow the command: commands, then flags.
func (c completed) words() string {
	var words []string
	for _, command := range c.commands {
		words = append(words, command.Name)
	}
	for _, flag := range c.flags {
		words = append(words, "--"+flag.Name)
	}
	return strings.Join(words, " ")
}

// bashCompletion finds the command among the words before the cursor.
func bashCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString("# bash completion of kith\n_kith() {\n\tlocal path= word words\n\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n\t\tcase \"${path:+$path }$word\" in\n")
	for _, c := range all[1:] {
		fmt.Fprintf(&b, "\t\t'%s') path='%s' ;;\n", c.path, c.path)
	}
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$path\" in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t'%s') words='%s' ;;\n", c.path, c.words())
	}
	b.WriteString("\tesac\n\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\ncomplete -o default -F _kith kith\n")
	return b.String()
}

// zshCompletion does the same with the words of zsh.
func zshCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString("#compdef kith\n_kith() {\n\tlocal path_= word\n\tfor word in \"${(@)words[2,CURRENT-1]}\"; do\n\t\tcase \"${path_:+$path_ }$word\" in\n")
	for _, c := range all[1:] {
		fmt.Fprintf(&b, "\t\t'%s') path_='%s' ;;\n", c.path, c.path)
	}
	b.WriteString("\t\tesac\n\tdone\n\tcase \"$path_\" in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t'%s') compadd -- %s ;;\n", c.path, c.words())
	}
	b.WriteString("\tesac\n\t_files\n}\n_kith \"$@\"\n")
	return b.String()
}

// fishCompletion asks for each command whether its words, and no further command, are on the line.
func fishCompletion(all []completed) string {
	quote := func(text string) string {
		first, _, _ := strings.Cut(text, ".")
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(first) + "'"
	}
	var b strings.Builder
	b.WriteString("# fish completion of kith\n")
	for _, c := range all {
		var conditions []string
		for word := range strings.FieldsSeq(c.path) {
			conditions = append(conditions, "__fish_seen_subcommand_from "+word)
		}
		var further []string
		for _, command := range c.commands {
			further = append(further, command.Name)
		}
		if len(further) > 0 {
			conditions = append(conditions, "not __fish_seen_subcommand_from "+strings.Join(further, " "))
		}
		when := ""
		if len(conditions) > 0 {
			when = " -n '" + strings.Join(conditions, "; and ") + "'"
		}
		for _, command := range c.commands {
			fmt.Fprintf(&b, "complete -c kith -f%s -a %s -d %s\n", when, command.Name, quote(command.Help))
		}
		for _, flag := range c.flags {
			fmt.Fprintf(&b, "complete -c kith%s -l %s -d %s\n", when, flag.Name, quote(flag.Help))
		}
	}
	return b.String()
}
