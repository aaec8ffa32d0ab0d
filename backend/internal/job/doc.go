// Package job owns work that outlives a request: its states, which process does it, and
// what happens when that process dies.
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
// A kind is a value of Kind, in a file of its own. A member has at most one live
// job of a kind, unless it is added by AddJob: starting it again returns that one. System jobs have no member and
// run again after an interval.
//
// Runner works on a Source; *Queue, the table in the database, is the one that servers
// use.
package job
