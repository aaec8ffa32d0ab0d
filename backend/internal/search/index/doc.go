// Package index is the keyword index over one member's connections. It lives in
// memory, needs neither database nor context, and answers in microseconds.
//
// # What it owns
//
// It splits text into words, folds them (case, accents, letters such as ß and ł),
// ranks hits, and does filters, paging and snippets. Hits are ranked by tiers; a hit of
// an earlier tier always comes first:
//
//	1 identifier   the whole query is an e-mail address, a phone number, a URL
//	               (these end the search) or the domain of an address
//	2 full name    the whole query is the name
//	3 all words    every word is found as typed, at least one of them in the name
//	4 prefix       … or begins a word
//	5 folded       … or is equal without accents
//	6 edits        … or is one edit away (4–7 letters), or two (8 and more),
//	               or sounds like a name in another script (Александр, Aleksandr)
//	7 nickname     a nickname, or another form of the given name (Bob, Robert)
//	8 other        all words found, none in the name: title, organisation,
//	               location, tag, group, address, bio, how they met, note,
//	               interaction
//
// Within a tier hits are ordered by score, then starred first, then the more recent contact, then
// name, then id. A score does not depend on other documents. An index that was updated a thousand
// times therefore answers exactly like a new one.
//
// # What it does not own
//
// Package search builds an index for each member, updates it and keeps it in an LRU cache bounded
// by [Index.Bytes]. Vector search, validation of queries and marking snippets as text by others are
// done elsewhere, too.
//
// # How it is built
//
//	Index ── snapshot ──┬── view ── segment: documents in tie-break order,
//	 (atomic pointer)   │    │       vocabulary → lists → document numbers,
//	                    │    │       whole values → document numbers
//	                    │    └ dead: bits of replaced and deleted documents
//	                    └── view …
//
// Segments never change. A Put adds a small one and marks the documents it replaces
// as dead; four segments of similar size are rebuilt into one. Readers load the
// snapshot and never wait. Document numbers follow the tie-break order, so of equally
// scored documents the first are the best.
//
// [Index.Summary] counts people and orders them for tools that read a whole network: by tags,
// groups, organisations, the strength of ties, and the day on which they are due. A segment
// computes its part when it is first asked, and the summary adds the parts up once for each
// snapshot.
//
// A misspelt word is compared with the words of the vocabulary, never with documents.
// A 32-bit letter signature rejects nearly all of them.
package index
