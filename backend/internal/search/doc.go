// Package search is the keyword index over one member's connections: it lives
// in memory, needs no database and no context, and answers in microseconds.
//
// # What it owns
//
// Splitting text into words, folding (case, accents, letters such as ß and ł),
// the order in which people are found, filters, paging and snippets. The order
// is a list of tiers; a hit of an earlier tier always comes first:
//
//	1 identifier   the whole query is an e-mail address, a phone number, a URL
//	               (these end the search) or the domain of an address
//	2 full name    the whole query is the name
//	3 all words    every word is found as typed, at least one of them in the name
//	4 prefix       … or begins a word
//	5 folded       … or agrees once accents are taken off
//	6 edits        … or is one edit away (4–7 letters), or two (8 and more)
//	7 nickname     a nickname, or another form of the given name (Bob, Robert)
//	8 other        all words found, none in the name: title, organisation,
//	               location, tag, group, address, bio, how they met, note,
//	               interaction
//
// Within a tier hits are ordered by score, then starred first, then the more
// recent contact, then name, then id. Nothing in the score depends on other
// documents, so an index that was updated a thousand times answers exactly as
// one built afresh.
//
// # What it does not own
//
// Loading and invalidating (the caller builds an index per member and keeps it
// in an LRU by [Index.Bytes]), meaning (embeddings are fused elsewhere),
// validation of queries, and fencing of the text in snippets.
//
// # How it is built
//
//	Index ── snapshot ──┬── view ── segment: documents in tie-break order,
//	 (atomic pointer)   │    │       vocabulary → lists → document numbers,
//	                    │    │       whole values → document numbers
//	                    │    └ dead: bits of replaced and deleted documents
//	                    └── view …
//
// Segments never change. A Put adds a small one and marks what it replaces as
// dead; four segments of like size are rebuilt into one. Readers load the
// snapshot and never wait. Because document numbers follow the tie-break order,
// the best of equally scored documents are simply the first ones.
//
// Guesses of spelling compare the query with the words of the vocabulary, never
// with documents: a 32-bit letter signature rejects nearly all of them.
package search
