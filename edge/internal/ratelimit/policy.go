package ratelimit

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of a policy.
const (
	// MaxQuota is the largest quota.
	MaxQuota = 1_000_000_000
	// MaxWindow is the longest window.
	MaxWindow = 24 * time.Hour
	// maxName is the maximum length of a policy's name in bytes.
	maxName = 64
)

// Subject says what a policy counts.
type Subject string

// The subjects of a policy.
const (
	// Address is the caller's IPv4 address or IPv6 /64.
	Address Subject = "address"
	// Credential is the caller's grant or personal token; a caller without a valid one counts
	// as an Address.
	Credential Subject = "credential"
)

// Policy limits how many requests a caller may make in a window.
type Policy struct {
	// Name is what the headers call the policy: lower-case letters, digits and
	// hyphens, at most 64 of them.
	Name string
	// Quota is how many requests are admitted in a window, at most MaxQuota; 0 disables the
	// policy.
	Quota int
	// Window is in whole seconds, at least one and at most MaxWindow.
	Window time.Duration
	// By is what is counted.
	By Subject
	// Sliding bounds the requests in every period of that length. Otherwise windows are fixed and
	// begin with the first request.
	Sliding bool
}

// Names of the policies.
const (
	PolicyProfile        = "profile"
	PolicyDirectory      = "directory"
	PolicyBatch          = "batch"
	PolicyMCP            = "mcp"
	PolicyMCPSandbox     = "mcp-sandbox"
	PolicyJobs           = "jobs"
	PolicyOAuthRegister  = "oauth-register"
	PolicyOAuthAuthorize = "oauth-authorize"
	PolicyOAuthToken     = "oauth-token"
	PolicyLogin          = "login"
	PolicyIdentity       = "identity"
	PolicySettings       = "settings"
	PolicyDemo           = "demo"
	// PolicyForms limits the pages for people who are not signed in. Every proxied route that takes a
	// POST has it, unless it has another policy.
	PolicyForms = "forms"
	// PolicyPhotos limits photos of connections; a page shows up to 50 of them.
	PolicyPhotos = "photos"
	// PolicyDAV limits address books: the first synchronisation of 2,000 people takes a phone about 200 requests.
	PolicyDAV = "dav"
	// PolicyCalendar limits calendar feeds, which programs read about once an hour.
	PolicyCalendar = "calendar"
)

// Defaults returns the policies without an operator's overrides. The backend enforces the login
// policy, because only the backend knows the account.
func Defaults() []Policy {
	return []Policy{
		{Name: PolicyProfile, Quota: 120, Window: time.Minute, By: Address},
		{Name: PolicyDirectory, Quota: 60, Window: time.Minute, By: Address},
		{Name: PolicyBatch, Quota: 30, Window: time.Minute, By: Address},
		{Name: PolicyMCP, Quota: 120, Window: time.Minute, By: Credential},
		{Name: PolicyMCPSandbox, Quota: 60, Window: time.Minute, By: Address, Sliding: true},
		{Name: PolicyJobs, Quota: 60, Window: time.Minute, By: Credential},
		{Name: PolicyOAuthRegister, Quota: 20, Window: time.Hour, By: Address},
		{Name: PolicyOAuthAuthorize, Quota: 60, Window: time.Minute, By: Address},
		{Name: PolicyOAuthToken, Quota: 60, Window: time.Minute, By: Address},
		{Name: PolicyLogin, Quota: 10, Window: 5 * time.Minute, By: Address},
		{Name: PolicyIdentity, Quota: 30, Window: time.Minute, By: Address},
		{Name: PolicySettings, Quota: 300, Window: time.Minute, By: Address},
		{Name: PolicyForms, Quota: 120, Window: time.Minute, By: Address},
		{Name: PolicyDemo, Quota: 120, Window: time.Minute, By: Address},
		{Name: PolicyPhotos, Quota: 3000, Window: time.Minute, By: Address}, // a page of 50 new people each second
		{Name: PolicyDAV, Quota: 1200, Window: time.Minute, By: Address},
		{Name: PolicyCalendar, Quota: 60, Window: time.Minute, By: Address},
	}
}

// Validate returns an error if the policy cannot be enforced or cannot be written into a header.
// Programs call it at start-up, for each policy.
func (p Policy) Validate() error {
	var errs []error
	if !validName(p.Name) {
		errs = append(errs, errors.New("its name is not 1 to 64 lower-case letters, digits and hyphens"))
	}
	if p.Quota < 0 || p.Quota > MaxQuota {
		errs = append(errs, fmt.Errorf("its quota is not from 0 to %d", MaxQuota))
	}
	if p.Window < time.Second || p.Window > MaxWindow || p.Window%time.Second != 0 {
		errs = append(errs, fmt.Errorf("its window is not from 1 to %d whole seconds", MaxWindow/time.Second))
	}
	if p.By != Address && p.By != Credential {
		errs = append(errs, errors.New("it counts neither addresses nor credentials"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rate policy %q: %w", p.Name, err)
	}
	return nil
}

func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
