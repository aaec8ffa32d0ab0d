// Package decision owns the calls of agents about which a member is asked first: what waits for
// an answer, and what became of it.
//
//	waiting ──approve──▶ approved ──job──▶ done
//	   │ │                   │  └─────────▶ failed     with the error of the call
//	   │ └──refuse──▶ refused └──revoke, cancel_job──▶ cancelled
//	   ├──7 days──▶ expired
//	   └──revoke, cancel_job──▶ cancelled
//
// Each decision has a job, which the agent reads with get_job. The job is due when the decision
// expires, or at once when it is made; then it does what was approved, or ends with the reason why
// nothing was done. A transition and the effect of the call are each one transaction of the
// member, and those happen one after the other, so of two transitions only one takes place. When
// the agent's access ends, triggers of the database cancel what it asked about.
//
// What a call would change, with its arguments, is stored only until the decision has ended.
// Package rpc makes decisions and carries out what was approved.
package decision
