// Package importer imports contacts from files.
//
//	file ─▶ source.Open ─▶ records ─▶ match ─▶ plan ─▶ write a step
//
// An import is a job of the kind file_import; import.go shows all of it, from the file to
// the report. A step has a few hundred records. It is one transaction with its rows, one
// recorded change that holds all of its effects under the id of the import, its price and
// its checkpoint. People come first, then relationships and pairs that are not the same
// person, notes, interactions, groups and reminders, which only Kith's own lossless export
// has. The job undo_import undoes the changes of an import one by one, the latest first.
//
// # Matching
//
// A record matches a stored person by the first of: the key that its source gives the
// person, an e-mail address, a phone number, a web or social address, or name and
// organisation together. A name alone never matches. An address matches only if the names
// are compatible (names.Compatible); if several people have compatible names, one must
// have the same name. A shared mailbox matches only with the same name. Otherwise the
// record is a new person, and a warning names the person who has the address.
//
// Two records of one file are the same person by the same rules. People with Kith's own ids
// are never merged: each id is one person. A record without a key is identified by its
// whole content, so importing a file twice adds no person twice.
//
// # Options
//
// skip leaves stored people unchanged. fill_blanks adds what is missing. overwrite prefers
// the file. If a file has several records of a person, the first one counts and the others
// fill blanks. An import never removes a value that the file lacks.
//
// On the pages, members choose the meaning of a table's columns and what to do with single rows:
// Options.Columns and Options.Rows. They are stored with the upload (UpdateChoices). The preview on
// the pages (NewPreview) is a dry run that reports its decision about each row.
//
// A dry run makes the same decisions, writes nothing and has no checkpoint: it keeps the
// rows that it would have written in memory.
//
// Package source reads the files.
package importer
