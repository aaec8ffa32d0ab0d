// Command ratios measures requests to Kith side by side with other requests, and prints
// the ratios of their costs.
//
//	ratios -kith FILE -work DIR [-only REGEXP] [-rounds 5] [-postgres URL] [-unobserved FILE] [-limit FILE -limit-db FILE]
//
// It starts and stops every service that it measures, each on its own database. In each
// round the targets run one after the other and give one ratio, so that noise of the
// machine affects both sides. The cost is the processor time of the server processes and
// of PostgreSQL's connections. Settings of all services come from the environment.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	var b bench
	var only string
	flag.StringVar(&b.kith, "kith", "", "the kith binary to measure")
	flag.StringVar(&b.unobserved, "unobserved", "", "the same, built with -tags unobserved")
	flag.StringVar(&b.limit, "limit", "", "the net/http server of the peers")
	flag.StringVar(&b.limitDB, "limit-db", "", "its database")
	flag.StringVar(&b.work, "work", "", "the folder for databases and logs")
	flag.StringVar(&b.postgres, "postgres", "", "a superuser's postgres:// address; without it only SQLite is measured")
	flag.StringVar(&only, "only", ".", "regular expression of the sections' names")
	flag.IntVar(&b.rounds, "rounds", 5, "the number of rounds")
	flag.DurationVar(&b.window, "for", time.Second, "how long each target is measured in a round")
	flag.StringVar(&b.hold, "hold", "", "keep the first target of this name busy until interrupted, for a profiler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx, only); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// bench is the configuration of all sections.
type bench struct {
	kith, unobserved, limit, limitDB, work, postgres string

	rounds int
	window time.Duration
	hold   string
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

func (b *bench) run(ctx context.Context, only string) error {
	selected, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	engines := []string{sqlite, postgres}
	if b.postgres == "" {
		engines = engines[:1]
	}
	for _, question := range []section{
		{"ratio-304", unchanged}, {"ratio-metered", metered}, {"ratio-idempotency", idempotency}, {"ratio-size", sizes}, {"ratio-tenants", tenants},
		{"ratio-observed", observed},
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
	return nil
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
	if b.hold != "" {
		return b.holdOn(ctx, list)
	}
	return b.compare(ctx, name, list)
}
