package billing

import (
	"fmt"
	"maps"

	"github.com/kith-crm/kith/backend/internal/account"
)

// Plans is how many credits a member gets each month, by plan.
type Plans map[string]int

// MaxAllowance is the most credits of a month. It fits into the contract's 32 bits.
const MaxAllowance = 1_000_000_000

// NewPlans returns the plans with the defaults for those that are not given:
// free 1,000 and pro 20,000. It fails for a plan that does not exist, and for an
// allowance that is out of range.
func NewPlans(given map[string]int) (Plans, error) {
	plans := Plans{account.PlanFree: 1_000, account.PlanPro: 20_000}
	for plan, n := range given {
		if err := account.CheckPlan(plan); err != nil {
			return nil, err
		}
		if n < 0 || n > MaxAllowance {
			return nil, fmt.Errorf("the plan %s cannot give %d credits a month: 0 to %d can be", plan, n, MaxAllowance)
		}
	}
	maps.Copy(plans, given)
	return plans, nil
}

// Allowance returns the credits of a month; an unknown plan gets those of the free one.
func (p Plans) Allowance(plan string) int {
	if n, ok := p[plan]; ok {
		return n
	}
	return p[account.PlanFree]
}
