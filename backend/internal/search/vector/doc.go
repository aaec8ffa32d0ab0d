// Package vector makes vectors of the data about people, and finds the nearest.
//
// A Provider makes the vectors. Local is built in and sends nothing anywhere. It hashes
// words and groups of letters, so it finds similar spellings: it does not know that a
// lawyer and an attorney do the same work. Remote is any server that speaks OpenAI's
// POST {base}/embeddings; its quality is that of its model. A provider reads
// [Person.Text], and the Hash of that text shows whether a vector is up to date.
//
// Set holds the vectors of one member in memory and compares a vector with all of them,
// which is fast enough for the network of one person.
//
// Other packages store vectors, search with them, and record which members allow a remote
// provider.
package vector
