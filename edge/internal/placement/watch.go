package placement

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// watchEvery is the interval of lookups and health checks.
	watchEvery = 2 * time.Second
	// lookupTimeout bounds the lookup of one host name.
	lookupTimeout = 2 * time.Second
	// checkTimeout bounds one health check. It is long enough for a process that is busy.
	checkTimeout = 3 * time.Second
	// healthPath is the check of the gRPC health protocol, which Connect serves by POST: whether the backend
	// and its database are available.
	healthPath = "/grpc.health.v1.Health/Check"
	serving    = "SERVING_STATUS_SERVING"
	maxHealth  = 4 << 10 // bytes of an answer
)

// Start looks the host names up, and then watches the backends until Stop. Call it once.
func (p *Placement) Start(ctx context.Context) {
	p.lookUp(ctx)
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.stopped)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.lookUp(ctx)
				p.checkAll(ctx)
			}
		}
	}()
}

// Stop ends the watch. It may be called before Start.
func (p *Placement) Stop() {
	if p.stop != nil {
		p.stop()
		<-p.stopped
	}
}

// lookUp updates the backends to the current addresses of their host names. If the lookup of a host
// name fails, its backends stay.
func (p *Placement) lookUp(ctx context.Context) {
	before := map[string]*backend{}
	for _, b := range *p.backends.Load() {
		before[b.host] = b
	}
	var now []*backend
	for _, s := range p.sites {
		hosts, err := p.hosts(ctx, s)
		if err != nil {
			for _, b := range *p.backends.Load() {
				if b.site == s {
					now = append(now, b)
				}
			}
			continue
		}
		for _, host := range hosts {
			b, known := before[host]
			if !known {
				b = &backend{site: s, host: host}
				if p.stop != nil { // added while the edge runs
					since := p.options.Now()
					b.since.Store(&since)
				}
				before[host] = b
			}
			if !slices.Contains(now, b) { // two names may have one address
				now = append(now, b)
			}
		}
	}
	p.backends.Store(&now)
}

// hosts returns the backends of a configured address, as host:port: one for each IP address, or the
// configured address itself if it has only one.
func (p *Placement) hosts(ctx context.Context, s site) ([]string, error) {
	name := s.base.Hostname()
	if _, err := netip.ParseAddr(name); err == nil {
		return []string{s.base.Host}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := p.options.Lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	addresses := oneFamily(found)
	if len(addresses) < 2 {
		return []string{s.base.Host}, nil
	}
	port := s.base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[s.base.Scheme]
	}
	var hosts []string
	for _, a := range addresses {
		hosts = append(hosts, net.JoinHostPort(a.String(), port))
	}
	return hosts, nil
}

// oneFamily returns the addresses of the family with more of them, IPv4 if both have as many: a
// process may have one of each.
func oneFamily(all []netip.Addr) []netip.Addr {
	var four, six []netip.Addr
	for _, a := range all {
		if a = a.Unmap(); a.Is4() {
			four = append(four, a)
		} else {
			six = append(six, a)
		}
	}
	if len(six) > len(four) {
		return six
	}
	return four
}

// checkAll checks the health of all backends. A single one has no other to take its calls, so it is
// not checked.
func (p *Placement) checkAll(ctx context.Context) {
	all := *p.backends.Load()
	if len(all) < 2 {
		return
	}
	var checks sync.WaitGroup
	for _, b := range all {
		checks.Go(func() {
			err := b.check(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				b.leaveOut(p.options.Logger, err)
			default:
				b.takeBack(p.options.Logger, p.options.Now())
			}
		})
	}
	checks.Wait()
}

// check returns nil if the backend says that it is serving.
func (b *backend) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.site.base.Scheme+"://"+b.host+healthPath, strings.NewReader("{}"))
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := b.site.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("check health: the backend answers %d", response.StatusCode)
	}
	var health struct{ Status string }
	if err := json.NewDecoder(io.LimitReader(response.Body, maxHealth)).Decode(&health); err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	if health.Status != serving {
		return fmt.Errorf("check health: the backend or its database is not serving (%.50q)", health.Status)
	}
	return nil
}
