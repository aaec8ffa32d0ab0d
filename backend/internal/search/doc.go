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
// built-in provider compare spelling only. They weigh less than words: they add people that
// words did not find, and don't move the others down. A hit's score depends on its own ranks
// only, so that concatenated pages are one list.
//
// # The job embed_objects
//
// It reads the people twice. First it counts who needs a vector, so that the price is charged
// before anything is sent. Then it makes the vectors in batches. A batch is read at a data
// version, its vectors are made outside any transaction, and they are stored together with the id
// after which to continue. If a person changes meanwhile, the stored vector has the older version
// and counts as stale.
package search
