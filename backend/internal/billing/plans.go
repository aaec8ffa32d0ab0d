package billing

import (
	"fmt"
	"maps"

	"github.com/kith-crm/kith/backend/internal/account"
)

// Plans says how many credits a month gives, by plan.
type Plans map[string]int

// maxAllowance fits the 32 bits in which the contract tells it.
const maxAllowance = 1_000_000_000

// NewPlans returns the plans with the defaults for those that are not given:
// free 1,000 and pro 20,000. It fails for a plan that does not exist, and for an
// allowance that cannot be.
func NewPlans(given map[string]int) (Plans, error) {
	plans := Plans{account.PlanFree: 1_000, account.PlanPro: 20_000}
	for plan, n := range given {
		if err := account.CheckPlan(plan); err != nil {
			return nil, err
		}
		if n < 0 || n > maxAllowance {
			return nil, fmt.Errorf("the plan %s cannot give %d credits a month: 0 to %d can be", plan, n, maxAllowance)
		}
	}
	maps.Copy(plans, given)
	return plans, nil
}

// Allowance is what a month gives; for a plan that is unknown, as little as the
// free one.
func (p Plans) Allowance(plan string) int {
	if n, ok := p[plan]; ok {
		return n
	}
	return p[account.PlanFree]
}
