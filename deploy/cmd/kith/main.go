// Command kith is all of Kith in one binary: the service, as one process or as two, and
// the commands of operators. `kith --help` lists them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := 1
	if err := readEnvFile(os.Args[1:]); err != nil {
		fail(os.Stderr, err)
	} else {
		code = run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// program is what every command receives.
type program struct {
	ctx      context.Context
	in       io.Reader
	out, err io.Writer
	settings *settings
	build    build
}

type commands struct {
	settings `group:"settings"`

	Serve       serveCommand       `cmd:"" help:"Run everything in one process."`
	Backend     backendCommand     `cmd:"" help:"Run the backend: domain, database and jobs behind Connect."`
	Edge        edgeCommand        `cmd:"" help:"Run the edge: MCP and the public API in front of a backend."`
	Migrate     migrateCommand     `cmd:"" help:"Migrate the database's schema to this version."`
	Backup      backupCommand      `cmd:"" help:"Write the database to a file, while kith runs."`
	Restore     restoreCommand     `cmd:"" help:"Restore a backup into a database that does not exist yet, or is empty."`
	MigrateData migrateDataCommand `cmd:"" name:"migrate-data" help:"Copy an installation from SQLite to PostgreSQL, or back, and compare every row."`
	Health      healthCommand      `cmd:"" help:"Ask the running process on this machine whether it is ready."`
	Doctor      doctorCommand      `cmd:"" help:"Check the settings, the database and the environment, and print what is wrong."`
	OwnerLink   ownerLinkCommand   `cmd:"" help:"Print a link that creates the first member in a browser, once, within 15 minutes."`
	Member      memberCommand      `cmd:"" help:"Manage members."`
	Account     accountCommand     `cmd:"" help:"Move an account to another installation, and delete one."`
	Token       tokenCommand       `cmd:"" help:"Create, list and revoke personal tokens."`
	Device      deviceCommand      `cmd:"" help:"Add, list and remove the devices with whose address books a member synchronises people."`
	Feed        feedCommand        `cmd:"" help:"Make, list and remove the calendar feeds of a member."`
	Client      clientCommand      `cmd:"" help:"List and show OAuth clients, and revoke their access."`
	Audit       auditCommand       `cmd:"" help:"List a member's security events: sign-ins, access that was given and ended, and changes of the account."`
	Secret      secretCommand      `cmd:"" help:"Create and replace the secret key."`
	Config      configCommand      `cmd:"" help:"Print the current settings, with secrets masked."`
	Man         manCommand         `cmd:"" help:"Print the manual page."`
	Completion  completionCommand  `cmd:"" help:"Print a script that completes commands and flags in a shell."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c,
		kong.Name("kith"),
		kong.Description("A personal CRM that AI agents use with one person's delegated access. "+
			"Secrets, such as KITH_DATABASE_URL and KITH_SERVICE_TOKEN, have no flag: set the environment variable, "+
			"or a variable such as KITH_DATABASE_URL_FILE with the path of a file."),
		kong.ExplicitGroups([]kong.Group{{Key: "settings", Title: "Settings of the service, for every command:"}}),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return fail(errOut, err)
	}
	selected, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		return fail(errOut, err)
	}
	if err := c.readSecrets(os.LookupEnv); err != nil {
		return fail(errOut, err)
	}
	if err := selected.Run(&program{ctx: ctx, in: in, out: out, err: errOut, settings: &c.settings, build: thisBuild()}); err != nil {
		return fail(errOut, err)
	}
	return 0
}

// fail writes the error as one line.
func fail(out io.Writer, err error) int {
	_, _ = fmt.Fprintf(out, "kith: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	return 1
}
