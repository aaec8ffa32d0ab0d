// Package recall finds people by words and by likeness, and says which it did.
//
//	query ─┬─ words ── internal/finder ── order of the tiers ─┐
//	       └─ vector ── provider, cached ── nearest people ───┴─ fused by rank
//
// Words are always there. Likeness takes part when the member has vectors of the
// provider's model, allows the provider if it is a remote one, and the provider
// answers in time; whatever is missing, the answer is by words and says why. A query
// that is an identifier or somebody's name is answered by words alone: likeness
// could only add people who are not meant.
//
// Fusion is by reciprocal rank: a hit of rank r adds 1/(60+r). Of likeness of
// spelling the ranks count for less than those of words, so that it adds people
// whom words missed without pushing others aside. How much a hit gets depends on
// nothing but its own ranks, so that pages laid end to end are one list.
package recall
