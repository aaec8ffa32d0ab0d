// Package billing owns what calls cost: the month's allowance of each plan, and
// how the charges of concurrent reads are committed together.
//
// A credit pays for a successful call of a priced tool, at the catalogue's price.
// A write is charged in its own transaction, also when it finds that there is
// nothing to change; refusals, failures and repeated answers cost nothing, and a
// tool without a price touches no row. A read is done first and charged then: an
// answer that cannot be paid for is not given. Demo accounts are not metered.
//
//	month begins ──first priced call──▶ +allowance ──▶ −price·calls … ──▶ month ends
//	                                        └ plan changes: ±difference, never below 0
//
// Each arrow is an entry of the ledger, which is only ever added to: the entries
// of a month always sum up to its balance.
package billing
