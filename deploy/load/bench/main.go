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
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
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
	flag.DurationVar(&b.soak, "soak", 30*time.Minute, "how long the section soak keeps a service busy")
	flag.DurationVar(&b.overloaded, "overload", time.Minute, "how long each part of the section overload lasts")
	flag.IntVar(&b.members, "members", 100_000, "the members of the section many")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx, only, row, sizes); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is the configuration of all sections.
type bench struct {
	kith, unobserved, root, peers, work, postgres, page, profiles string

	rounds                   int
	window, soak, overloaded time.Duration
	members                  int
	row                      *regexp.Regexp
	sizes                    []int
	report                   *report
}

// The kinds of databases.
const (
	sqlite   = "sqlite"
	postgres = "postgres"
)

// sections are groups of comparisons and figures. start starts the services on s and returns what to compare. engine is the
// only kind of database, if it is only one.
var sections = []struct {
	name   string
	start  func(ctx context.Context, s *stage) ([]comparison, error)
	engine string
}{
	{"peers", peers, sqlite},
	{"typos", typos, sqlite},
	{"tools", tools, ""},
	{"tails", tails, ""},
	{"directory", directory, ""},
	{"start", starts, sqlite},
	{"ratio-metered", metered, ""},
	{"ratio-idempotency", idempotency, ""},
	{"ratio-members", members, ""},
	{"ratio-observed", observed, ""},
	{"soak", soak, ""},
	{"placement", placement, postgres},
	{"many", many, postgres},
	{"overload", overload, sqlite},
}

func (b *bench) run(ctx context.Context, only, row, sizes string) (err error) {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if b.row, err = regexp.Compile(row); err != nil {
		return err
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("sizes: %w", err)
		}
		b.sizes = append(b.sizes, n)
	}
	b.report = newReport(b)
	if b.postgres == "" {
		b.report.missing("PostgreSQL", errNoPostgres)
	}
	for _, section := range sections {
		for _, engine := range []string{sqlite, postgres} {
			name := section.name + "-" + engine
			if !selected.MatchString(name) || section.engine != "" && section.engine != engine || engine == postgres && b.postgres == "" {
				continue
			}
			if err := b.section(ctx, &stage{bench: b, name: name, engine: engine}, section.start); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if b.page == "" {
		return nil
	}
	return b.report.write(b.page)
}

func (b *bench) section(ctx context.Context, s *stage, begin func(ctx context.Context, s *stage) ([]comparison, error)) error {
	defer s.end()
	start := time.Now()
	list, err := begin(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: made ready in %s\n", s.name, time.Since(start).Round(time.Second))
	if len(list) == 0 {
		return nil
	}
	if err := b.profiled(ctx, s, list); err != nil || s.after == nil {
		return err
	}
	return s.after()
}

// profiled compares, and writes a processor profile of each Kith of the section if profiles are wanted.
func (b *bench) profiled(ctx context.Context, s *stage, list []comparison) error {
	var length time.Duration
	for _, t := range targetsOf(list) {
		length += b.windowOf(t) * time.Duration(b.rounds)
	}
	var profiles errgroup.Group
	for i, p := range s.processes {
		if b.profiles != "" && p.admin != "" {
			profiles.Go(func() error {
				return p.profile(filepath.Join(b.profiles, fmt.Sprintf("%s-%d.pprof", s.name, i)), length)
			})
		}
	}
	err := b.compare(ctx, s.name, list)
	return errors.Join(err, profiles.Wait())
}
