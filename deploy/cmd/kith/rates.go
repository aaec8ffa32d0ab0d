package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	backend "github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
)

const ratePrefix = "KITH_RATE_"

// loginPolicy is the one that the backend enforces, which alone sees the account.
const loginPolicy = "login"

// rateVariable is the environment variable of a rate policy.
func rateVariable(policy string) string {
	return ratePrefix + strings.ToUpper(strings.ReplaceAll(policy, "-", "_"))
}

// rateLimits reads the rate policies that the environment sets, by their names.
func rateLimits(environment []string) (map[string]string, error) {
	policies := map[string]string{}
	for _, name := range edge.RatePolicies() {
		policies[rateVariable(name)] = name
	}
	rates := map[string]string{}
	for _, line := range environment {
		variable, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(variable, ratePrefix) || value == "" {
			continue
		}
		name, ok := policies[variable]
		if !ok {
			return nil, fmt.Errorf("%s names no rate policy; there are %s", variable, strings.Join(slices.Sorted(maps.Keys(policies)), ", "))
		}
		if _, _, err := edge.ParseRateLimit(value); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		rates[name] = value
	}
	return rates, nil
}

// login is what the backend is told of the login policy; nil leaves its default.
func (s *settings) login() (*backend.RatePolicy, error) {
	value, ok := s.Rates[loginPolicy]
	if !ok {
		return nil, nil //nolint:nilnil // no policy of the operator's is no error
	}
	quota, window, err := edge.ParseRateLimit(value)
	if err != nil {
		return nil, err
	}
	return &backend.RatePolicy{Quota: quota, Window: max(window, time.Second)}, nil
}

func printRates(out io.Writer, rates map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		if _, err := fmt.Fprintf(out, "%s=%s\n", rateVariable(name), rates[name]); err != nil {
			return err
		}
	}
	return nil
}
