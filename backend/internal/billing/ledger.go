package billing

import (
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The reasons of entries.
const (
	ReasonAllowance = "allowance"
	ReasonPlan      = "plan"
	ReasonCalls     = "calls"
	// ReasonRefund returns the price of a failed job.
	ReasonRefund = "refund"
)

// PeriodFormat is the layout of a period for time.Format: the month in UTC, YYYY-MM.
const PeriodFormat = "2006-01"

// Entry is a line of the ledger, and its database row.
type Entry struct {
	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	Period   string
	Delta    int
	// BalanceAfter is what was left when the entry was written.
	BalanceAfter int
	Reason       string
	// Tool and Calls are what was paid for; empty and 0 for the other reasons. Reads of a
	// tool that were charged within seconds are one entry.
	Tool      string
	Calls     int
	CreatedAt time.Time
}

// Balance is a member's credits of a month.
type Balance struct {
	Month
	Allowance, Remaining int
}

// Used is how much of the allowance is spent.
func (b Balance) Used() int { return max(0, b.Allowance-b.Remaining) }

// Charge is the price of one call that reads.
type Charge struct {
	Tenant tenant.ID
	Tool   string
	Price  int
	// CredentialID and CredentialName are the credential of the call, whose reads are
	// counted.
	CredentialID, CredentialName string
}

// Receipt is what a call cost and what is left.
type Receipt struct {
	Charged   int       `json:"charged"`
	Remaining int       `json:"remaining"`
	ResetsAt  time.Time `json:"resets_at"`
}

// Shortage is fault.Exhausted with what is left.
type Shortage struct {
	Receipt Receipt
	fault   *fault.Error
}

// Error names the allowance and the time of the next one.
func (s *Shortage) Error() string { return s.fault.Error() }

// Unwrap returns the coded error.
func (s *Shortage) Unwrap() error { return s.fault }

// Shortage returns the error for a price that the balance does not cover.
func (b Balance) Shortage(price int) *Shortage {
	return &Shortage{
		Receipt: Receipt{Remaining: b.Remaining, ResetsAt: b.ResetsAt},
		fault:   fault.New(fault.Exhausted, "%s; %s new ones come on %s.", b.spent(price), grouped(b.Allowance), b.ResetsAt.Format(time.RFC3339)),
	}
}

func (b Balance) spent(price int) string {
	if b.Remaining <= 0 {
		return "This month's " + grouped(b.Allowance) + " credits are used up"
	}
	return "This call costs " + grouped(price) + " credits, and of this month's " + grouped(b.Allowance) + " only " +
		grouped(b.Remaining) + " are left"
}

// grouped writes a number with commas: 1,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
