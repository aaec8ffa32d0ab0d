// Package billing owns what calls cost: the month's allowance of each plan, the ledger, and
// the charges of reads, which are in memory for up to a second.
//
// Credits pay for successful calls of priced tools, at the catalogue's price. A write is
// charged in its own transaction, even when it changes nothing. Refused calls, failures
// and replays cost nothing, and a tool without a price touches no row. A read runs first
// and is charged after it: when the credits don't cover it, its answer is not sent. The
// charge is checked against the stored balance and what is in memory, and is written with
// the member's next write, or within a second; a crash loses the charges of that second.
// Demo accounts are not metered.
//
//	month begins ──first priced call──▶ +allowance ──▶ −price·calls … ──▶ month ends
//	                                        └ plan changes: ±difference, never below 0
//
// Each arrow is an entry of the ledger, which is append-only: the entries of a month
// always sum up to its balance.
package billing
