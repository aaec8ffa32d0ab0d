package server

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kith-crm/kith/edge/internal/clientip"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// RatePolicies returns the names of the rate policies, for Config.RateLimits.
func RatePolicies() []string {
	var names []string
	for _, p := range ratelimit.Defaults() {
		names = append(names, p.Name)
	}
	return names
}

// DefaultRateLimits returns the default policies in the form of Config.RateLimits.
func DefaultRateLimits() map[string]string {
	limits := map[string]string{}
	for _, p := range ratelimit.Defaults() {
		limits[p.Name] = fmt.Sprintf("%d/%d", p.Quota, int(p.Window.Seconds()))
	}
	return limits
}

// ParseRateLimit reads a value of Config.RateLimits; off is 0 requests.
func ParseRateLimit(text string) (quota int, window time.Duration, err error) {
	return ratelimit.ParseOverride(text)
}

// buildLimits builds the rate limiter, its store and the resolver of client addresses.
func (p *parts) buildLimits() (err error) {
	if p.policies, err = ratelimit.Apply(ratelimit.Defaults(), p.RateLimits); err != nil {
		return err
	}
	warnOfSandbox(p.Logger, p.policies)
	if p.clients, err = clientip.New(clientip.Config{TrustedProxies: p.TrustedProxies, Header: p.ClientHeader}); err != nil {
		return err
	}
	if p.store, err = newRateStore(p.resolved); err != nil {
		return err
	}
	options := ratelimit.Options{Policies: p.policies, Store: p.store, Clients: p.clients, Logger: p.Logger}
	if p.Rates != nil {
		options.Observe = p.Rates.Observe
	}
	p.limiter, err = ratelimit.New(options)
	return err
}

// warnOfSandbox warns the operator if the sandbox admits more than the 60 calls a minute
// that the specification fixes.
func warnOfSandbox(logger *slog.Logger, policies []ratelimit.Policy) {
	for _, p := range policies {
		if p.Name != ratelimit.PolicyMCPSandbox {
			continue
		}
		const most = 60
		inAMinute := p.Quota // at most, in the sliding window of the policy
		if p.Window < time.Minute {
			inAMinute = int(int64(p.Quota) * int64(time.Minute) / int64(p.Window))
		}
		if !p.Enabled() || inAMinute > most {
			logger.Warn("KITH_RATE_MCP_SANDBOX admits more than 60 calls a minute from an address, which the specification fixes", slog.String("policy", p.Name),
				slog.Int("quota", p.Quota), slog.Int("window", int(p.Window/time.Second)))
		}
	}
}

// newRateStore returns a store in memory, or in a Redis that several edges share, with a store in
// memory for outages of Redis.
func newRateStore(c resolved) (ratelimit.Store, error) {
	memory := ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now})
	if c.RedisURL == "" {
		return memory, nil
	}
	shared, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: c.RedisURL, Secret: []byte(c.ServiceToken)})
	if err != nil {
		return nil, err
	}
	return ratelimit.NewFallback(shared, memory, ratelimit.FallbackConfig{
		Nodes: c.Edges,
		OnState: func(state ratelimit.State, cause error) {
			if c.Rates != nil {
				c.Rates.Fallback(state == ratelimit.StateLocal)
			}
			if cause != nil {
				c.Logger.Warn("Redis is unreachable: this edge counts rate limits alone", slog.String("state", state.String()), slog.String("error", cause.Error()))
				return
			}
			c.Logger.Info("rate limits are shared in Redis again", slog.String("state", state.String()))
		},
	}), nil
}
