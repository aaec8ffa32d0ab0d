// Package importer imports contacts from files: it matches each record with the people
// on file, plans what to write, writes it in steps, and reports it.
//
//	file ─▶ internal/importer/source ─▶ records ─▶ steps of some hundred ─▶ database
//	                                                  │
//	            people ─▶ relations ─▶ notes ─▶ interactions ─▶ done
//
// An import is a job of the kind file_import. Each step is one transaction, with
// its checkpoint, its price and one change that holds all of its effects under the
// id of the import; a job of the kind undo_import takes
// those back again, one by one, the latest first.
//
// # Who is who
//
// A record is somebody on file by, in this order: the key that its source knows
// them by, an e-mail address, a phone number, a web or social address, or name and
// organisation together. A name alone never tells. An address tells only where the
// names may be one person's (names.Compatible), and with several people of such
// names not at all unless one bears the very name; a shared mailbox tells only
// with the very name. Otherwise the record is a new person, and a warning names who
// has the address. Two records of one
// file are one person by the same rules, but for people with ids of ours, who are
// as many as there are ids. Records with neither key nor address are remembered by
// what they say, so that a file that is imported twice adds nobody twice.
//
// # What becomes of them
//
// skip leaves people on file alone. fill_blanks adds what is not known of them.
// overwrite lets the file's word count for more. Of several records of one person
// in one file the first counts, the others fill blanks. Nothing is ever emptied
// because a file does not say it.
//
// A dry run takes the same decisions on what is on file, writes nothing and keeps
// in memory what it would have written; it has no checkpoint.
//
// Package source reads the files.
package importer
