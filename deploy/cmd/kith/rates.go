package main

import (
	"time"

	backend "github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
)

const ratePrefix = "KITH_RATE_"

// loginPolicy is the policy that the backend enforces, because only it knows the account.
const loginPolicy = "login"

// rateLimits reads the rate policies that the environment sets, by their names.
func rateLimits(environment []string) (map[string]string, error) {
	return namedSettings(environment, ratePrefix, "rate policy", edge.RatePolicies(), func(value string) error {
		_, _, err := edge.ParseRateLimit(value)
		return err
	})
}

// login returns the login policy for the backend; nil means the default.
func (s *settings) login() (*backend.RatePolicy, error) {
	value, ok := s.Rates[loginPolicy]
	if !ok {
		return nil, nil //nolint:nilnil // nil means the default
	}
	quota, window, err := edge.ParseRateLimit(value)
	if err != nil {
		return nil, err
	}
	return &backend.RatePolicy{Quota: quota, Window: max(window, time.Second)}, nil
}
