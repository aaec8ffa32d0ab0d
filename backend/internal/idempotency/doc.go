// Package idempotency owns the rules of requests that carry an Idempotency-Key:
// what a key is, how long its answer is given again, and how much is kept.
//
//	new ──claim──▶ in flight ──answer kept──▶ answered ──24 h──▶ forgotten
//	                  └ refused, out of credits, outage, crash ──▶ new
//
// An answer is kept in the transaction of the effect, so that both are there or
// neither. Whoever comes while the first is in flight is turned away at once;
// whoever comes later with the same bytes gets the same answer, and with other
// bytes a refusal. The table is internal/store's; what an answer is made of is
// known to internal/rpc and internal/authserver.
package idempotency
