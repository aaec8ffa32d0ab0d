package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthTimeout bounds the request; /readyz answers within a second.
const healthTimeout = 3 * time.Second

type healthCommand struct{}

// Run requests /readyz of the process whose admin listener is at KITH_ADMIN_ADDR on this
// machine.
func (healthCommand) Run(p *program) error {
	host, port, err := net.SplitHostPort(p.settings.AdminAddr)
	if err != nil {
		return fmt.Errorf("KITH_ADMIN_ADDR %q is not host:port", p.settings.AdminAddr)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(p.ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("nothing answers at KITH_ADMIN_ADDR: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the process is not ready: /readyz answers %d", res.StatusCode)
	}
	return p.print("ready")
}
