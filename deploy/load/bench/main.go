// Command bench measures requests to Kith side by side with the same requests to its peers
// and with other requests to Kith, and reports the ratios of their costs.
//
//	bench -kith FILE -unobserved FILE -root DIR -peers DIR -work DIR [-only REGEXP] [-row REGEXP] [-rounds 9] [-for 1s] [-postgres URL] [-page FILE]
//
// It starts and stops every service that it measures, each on its own database. In each
// round the targets run one after the other and give one ratio, so that noise of the
// machine affects both sides. The cost is the processor time of the server processes and
// of the database server. Settings of all services come from the environment.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var b bench
	var only, row, sizes string
	flag.StringVar(&b.kith, "kith", "", "the kith binary to measure")
	flag.StringVar(&b.unobserved, "unobserved", "", "the same, built with -tags unobserved")
	flag.StringVar(&b.root, "root", "", "the repository")
	flag.StringVar(&b.peers, "peers", "", "the folder of the peers' programs")
	flag.StringVar(&b.work, "work", "", "the folder for databases and logs")
	flag.StringVar(&b.postgres, "postgres", "", "a superuser's postgres:// address of a server that does nothing else; without it only SQLite is measured")
	flag.StringVar(&b.page, "page", "", "the Markdown page whose generated part to write, with files in the folder of its name")
	flag.StringVar(&only, "only", ".", "regular expression of the sections' names")
	flag.StringVar(&row, "row", ".", "regular expression of the rows of the section of tools")
	flag.IntVar(&b.rounds, "rounds", 9, "the number of rounds")
	flag.DurationVar(&b.window, "for", time.Second, "how long each target is measured in a round; a fifth of it for a tool")
	flag.StringVar(&b.profiles, "profiles", "", "a folder for processor profiles of each Kith while its targets run")
	flag.StringVar(&sizes, "sizes", "100,1000,10000,100000", "the sizes of the network in the section of tools")
	flag.DurationVar(&b.soak, "soak", 0, "how long the section soak keeps a service busy; 0 for not at all")
	flag.IntVar(&b.members, "members", 0, "the members of the sections many and placement; 0 for neither")
	flag.StringVar(&b.hold, "hold", "", "keep the first target of this name busy until interrupted, for a profiler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: sizes:", err)
			os.Exit(1)
		}
		b.sizes = append(b.sizes, n)
	}
	if err := b.run(ctx, only, row); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// bench is the configuration of all sections.
type bench struct {
	kith, unobserved, root, peers, work, postgres, page, profiles string

	rounds int
	window time.Duration
	soak   time.Duration
	// members is the number of members of the sections many and placement.
	members int
	hold    string
	row     *regexp.Regexp
	sizes   []int
	report  *report
}

// The kinds of databases.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// section is a group of comparisons.
type section struct {
	name string
	// start starts the services on s and returns what to compare.
	start func(ctx context.Context, s *stage) ([]comparison, error)
}

func (b *bench) run(ctx context.Context, only, row string) (err error) {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if b.row, err = regexp.Compile(row); err != nil {
		return err
	}
	b.report = b.newReport()
	engines := []string{sqlite, postgres}
	if b.postgres == "" {
		engines = engines[:1]
		b.report.missing("PostgreSQL", errNoPostgres)
	}
	for _, question := range []section{
		{"peers", peers}, {"typos", typos}, {"tools", tools}, {"tails", tails}, {"directory", directory}, {"soak", soak}, {"placement", placement}, {"start", starts}, {"ratio-metered", metered}, {"ratio-idempotency", idempotency}, {"ratio-size", sizes}, {"ratio-tenants", tenants},
		{"ratio-observed", observed}, {"many", many},
	} {
		for _, engine := range engines {
			name := question.name + "-" + engine
			if !selected.MatchString(name) {
				continue
			}
			if err := b.section(ctx, name, engine, question); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if b.page == "" {
		return nil
	}
	return b.report.write(b.page)
}

func (b *bench) section(ctx context.Context, name, engine string, question section) error {
	s := &stage{bench: b, name: name, engine: engine}
	defer s.end()
	start := time.Now()
	list, err := question.start(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: made ready in %s\n", name, time.Since(start).Round(time.Second))
	if len(list) == 0 {
		return nil
	}
	if b.hold != "" {
		return b.holdOn(ctx, list)
	}
	if err := b.profiled(ctx, s, list, func() error { return b.compare(ctx, name, list) }); err != nil || s.after == nil {
		return err
	}
	return s.after()
}
