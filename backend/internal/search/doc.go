// Package search finds people by words and by meaning, and says which it did.
//
//	query ─┬─ words ── IndexCache ── order of the tiers ───────┐
//	       └─ vector ── provider, cached ── nearest people ────┴─ fused by rank
//
// Package search finds by words, in memory; IndexCache keeps an index for each tenant and
// brings it up to date with what changed since. Package vector holds vectors and their
// providers; the job embed_objects makes the vectors.
//
// Words always take part. Vectors take part when the member has vectors of the
// provider's model, allows the provider if it is a remote one, and the provider answers
// in time; otherwise the answer is by words alone and says why. A query that is an
// identifier or a person's name is answered by words alone.
//
// Results are fused by reciprocal rank: a hit of rank r adds 1/(60+r). Vectors of the
// built-in provider, which likens spelling, weigh less than words, so that they add
// people whom words missed and push no others aside. A hit's score depends on its own
// ranks only, so that pages laid end to end are one list.
//
// # The job embed_objects
//
// It goes over the people twice. First it counts who needs a vector, so that the price
// is known and paid before anything is sent; then it makes the vectors, a batch at a
// time. A batch is read at a data version, turned into vectors outside of any
// transaction, and kept together with the id from which to go on. A person who changes
// meanwhile keeps a vector that says of which version it is, and is stale.
package search
