// Package wordindex owns the index of the words of notes and interactions, by which package timeline searches them.
//
// Each entry has a number, which grows: it is the entry's place in the arrays of a search. Three tables, whose rows belong to one
// tenant, are derived from the entries, their links and the names of the people whom they link:
//
//	entry_numbers  entry_id -> number, and the terms under which the entry is indexed, so that it can be taken out again
//	entry_words    term, last -> postings: the numbers of up to last of the entries with a term, and how often each has it
//	entry_times    block -> times: the time of each of 1,024 entries, and the latest of them
//
// A term is a word of the entry's text or of the name of a person whom it is about, archived or not (see index.EachTerm), or the
// entry's kind after a colon. The postings of a term are cut into rows of about 1,500 bytes. New entries have the highest numbers,
// so their postings go to the row that is open at the end, whose last is [open]: a write changes one small row for each term, a
// rare term is one row, and a term of all of 400,000 entries is some 300.
//
// Whatever writes an entry, its links or a person's name calls Mark, MarkOf or MarkRenamed; the transaction indexes the marked
// entries again at its end.
package wordindex
