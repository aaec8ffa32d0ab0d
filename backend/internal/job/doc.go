// Package job runs work that outlives a request. It owns the states of a job, decides which
// process runs it, and what happens when that process dies.
//
//	queued ──claim──▶ running ──▶ succeeded
//	  ▲                 │   ├───▶ failed       final, or tried too often without progress
//	  │                 │   └───▶ cancelled
//	  └─ stop, error ───┘
//
// A claim is a lease with a fencing token. While the work goes on, heartbeats
// renew the lease. When its holder dies, the lease expires, and another process claims
// the job with a higher token. A step of the work commits together with its checkpoint,
// and only under the token of the claim. So a holder whose lease expired can no longer
// write, and the next one continues after the last committed step.
//
// A kind is a value of Kind, in a file of its own. StartJob returns the member's live job of
// the kind if there is one, and otherwise queues a job; AddJob always queues another one.
// System jobs have no member and run again after an interval.
//
// Runner takes jobs from a Source. Servers use *Queue, the table in the database.
package job
