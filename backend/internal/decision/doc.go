// Package decision stores the calls of agents that need a member's approval, and their outcomes.
//
//	waiting ──approve──▶ approved ──job──▶ done
//	   │ │                   │  └─────────▶ failed     with the error of the call
//	   │ └──refuse──▶ refused └──revoke, cancel_job──▶ cancelled
//	   ├──7 days──▶ expired
//	   └──revoke, cancel_job──▶ cancelled
//
// Each decision has a job, which the agent reads with get_job. The job is due as soon as the member
// decides, or when the decision expires. Then it executes the approved call, or ends with the
// reason why nothing was done. Each transition, and the effect of the call, is one transaction of
// the member. A member's transactions run one after the other, so of two concurrent transitions only one
// takes place. When the agent's access ends, database triggers cancel its waiting decisions.
//
// The arguments and the preview of a call are stored only until the decision has ended. Package
// rpc creates decisions and executes approved calls.
package decision
