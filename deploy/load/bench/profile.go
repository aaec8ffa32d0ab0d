package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// profiled runs the rounds of a section, and writes a processor profile of each of its Kiths
// if profiles are wanted.
func (b *bench) profiled(ctx context.Context, s *stage, list []comparison, rounds func() error) error {
	if b.profiles == "" {
		return rounds()
	}
	var length time.Duration
	for _, t := range targetsOf(list) {
		length += b.windowOf(t) * time.Duration(b.rounds)
	}
	var group sync.WaitGroup
	errs := make([]error, len(s.processes))
	for i, p := range s.processes {
		if p.admin != "" {
			file := filepath.Join(b.profiles, fmt.Sprintf("%s-%d.pprof", s.name, i))
			group.Go(func() { errs[i] = p.profile(ctx, file, length) })
		}
	}
	err := rounds()
	group.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// profile writes a processor profile of the given length into a file.
func (p *process) profile(ctx context.Context, file string, length time.Duration) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.admin, max(1, int(length.Seconds()))), http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", res.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, res.Body)
	return errors.Join(err, out.Close())
}
