// Package idempotency owns the rules of requests that carry an Idempotency-Key:
// what a key is, how long its answer is repeated, and how much is stored.
//
//	new ──claim──▶ in flight ──answer kept──▶ answered ──24 h──▶ forgotten
//	                  └ refused, out of credits, outage, crash ──▶ new
//
// An answer is stored in the transaction of the effect, so that both exist or neither. A
// request that arrives while the first one is in flight is refused at once. A later
// request with the same bytes gets the same answer; one with other bytes is refused.
// Packages rpc and oauth decide what an answer contains.
package idempotency
