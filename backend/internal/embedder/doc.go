// Package embedder does the job embed_objects: it makes a vector of each person of
// a member whose vector is missing or is of what used to be on file.
//
// It goes over the people twice. First it counts for whom a vector has to be made,
// so that the price is known and paid before anything is sent anywhere; then it
// makes them, a batch at a time. A batch is read at a data version, turned into
// vectors outside of any transaction, and kept together with the place in the
// order of ids from which to go on. Whoever changes meanwhile keeps a vector that
// says of which version it is, and is stale.
package embedder
