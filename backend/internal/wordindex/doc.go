// Package wordindex owns the index of the words of notes and interactions, by which package timeline searches them.
//
// Each note or interaction is an entry with a number; a new entry gets the next one. A search counts in arrays that these numbers
// index. Three tables are derived from the notes, the interactions, the people linked to them and the names of these people:
//
//	entry_numbers  entry_id -> number, and the terms that the entry is indexed by, so that they can be removed from the index
//	entry_words    term, last -> postings: numbers, up to last, of the entries with a term, and how often each of them has it
//	entry_blocks   block -> times and kinds of 1,024 entries
//
// A term is a word of the entry's text or of the name of a person whom it is about, archived or not (see index.EachTerm), or the first
// three letters of such words. The postings of a term are cut into rows of at most 900 bytes. New entries have the highest numbers, so
// their postings go to the last row of a term, whose last is [open]: a write changes one small row for each term. A rare term has one
// row, and a term that all of 400,000 entries have about 60. A backend holds the blocks of the members who search in memory
// ([Blocks]): five bytes an entry, which order what is found and say of which kind it is, without a statement.
//
// Whatever writes an entry, its links or a person's name calls Mark, MarkOf or MarkRenamed; the transaction indexes the marked
// entries again at its end.
package wordindex
