// Package embedding turns what is on file about a person into vectors that can be
// compared, and compares them.
//
// A Provider makes the vectors. Local is built in, needs nothing and sends nothing
// anywhere; it hashes letter groups and words, so what it finds alike is spelled
// alike: it does not know that a lawyer and an attorney do the same work. Remote is
// any server that speaks OpenAI's POST {base}/embeddings; what it finds alike is as
// good as its model. What a person is to a provider is Text, and the Hash of that
// text tells whether a vector is still of what is on file.
//
// Set holds the vectors of one member in memory and compares a vector with all of
// them, one by one: that is fast enough for every network that one person has.
//
// Which members allow a remote provider is internal/member's; keeping vectors is
// internal/store's; searching with them is internal/recall's.
package embedding
