// Package job owns work that outlives a request: its states, who does it, and what
// happens when whoever does it dies.
//
//	queued ──claim──▶ running ──▶ succeeded
//	  ▲                 │   ├───▶ failed       final, or tried too often without progress
//	  │                 │   └───▶ cancelled
//	  └─ stop, error ───┘
//
// A claim is a lease with a fencing token. While the work goes on, heartbeats
// renew the lease; when its holder dies it runs out, and another claims the job
// with a higher token. Steps of the work commit together with their checkpoint and
// only under the token of the claim, so that a holder that was given up for dead
// writes nothing any more, and the next goes on where the last step ended.
//
// A kind is a value of Kind, in a file of its own. A member has at most one live
// job of a kind: starting it again returns that one. Jobs of the system have no
// member and begin anew after a while.
//
// Runner works on a Source; *Queue, the table in the database, is the one that servers
// use.
package job
