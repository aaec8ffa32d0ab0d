// Command ratios measures requests to Kith against other requests, side by side,
// and prints how many times dearer the one is than the other.
//
//	ratios -kith FILE -work DIR [-only REGEXP] [-rounds 5] [-postgres URL] [-unobserved FILE] [-limit FILE -limit-db FILE]
//
// It starts every service that it measures, on a database of its own, and ends
// it. Within a round the requests take turns, and a ratio is formed in each
// round: noise of the machine falls on both sides. Processor time is that of the
// serving processes; with PostgreSQL, of its connections too. Settings that are
// the same for all services come from the environment.
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
	flag.StringVar(&b.kith, "kith", "", "the program that is measured")
	flag.StringVar(&b.unobserved, "unobserved", "", "the same, built with -tags unobserved")
	flag.StringVar(&b.limit, "limit", "", "the plain net/http server of the peers")
	flag.StringVar(&b.limitDB, "limit-db", "", "the database that it wants")
	flag.StringVar(&b.work, "work", "", "the folder for databases and logs")
	flag.StringVar(&b.postgres, "postgres", "", "a superuser's postgres:// address; without one only SQLite is measured")
	flag.StringVar(&only, "only", ".", "regular expression of the sections' names")
	flag.IntVar(&b.rounds, "rounds", 5, "how many rounds")
	flag.DurationVar(&b.window, "for", time.Second, "how long each request is measured in a round")
	flag.StringVar(&b.hold, "hold", "", "keep the first target of the name busy until interrupted, for a profiler")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx, only); err != nil {
		fmt.Fprintln(os.Stderr, "ratios:", err)
		os.Exit(1)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// bench is what all sections measure with.
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

// section is a question that a run answers.
type section struct {
	name string
	// ask starts what is measured; s is its to end.
	ask func(ctx context.Context, s *stage) ([]comparison, error)
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
		{"ratio-304", unchanged}, {"ratio-metered", metered}, {"ratio-keyed", keyed}, {"ratio-size", sizes}, {"ratio-tenants", tenants},
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
	list, err := question.ask(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: made ready in %s\n", name, time.Since(start).Round(time.Second))
	if b.hold != "" {
		return b.holdOn(ctx, list)
	}
	return b.compare(ctx, name, list)
}
