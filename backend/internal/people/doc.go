// Package people owns the connections of a member: the data about a person, the rules for
// when two records are one person, and how a record is created, changed, merged, archived
// and deleted. Notes and interactions are in package timeline, finding people by words is
// in package search, groups are in package groups; the rows of group membership are here,
// because merging and deleting people moves them.
//
// # Duplicates
//
// Find returns people who may be stored twice, with a score and its grounds:
//
//	the same profile in a network of contacts  .97
//	the same e-mail address                    .95
//	the same phone number                      .90
//	the same other web address                 .90
//	the same name                              .70
//	a similar name                             .50
//	the same organisation, beside one of these +.15
//
// The numbers are combined like independent probabilities: the score is 1 − Π(1 − weight), plus
// .15 for the same organisation, and at most 1. An address that three or more people have, or a
// mailbox like info@, counts half. A name alone is not enough for the default of .75. Names are
// the same if they differ only in case, accents, punctuation, spacing or the order of words.
// Find compares only people who share an address or a name, never all pairs. FindDuplicates
// reads only these people: the transaction that writes a person also writes their keys
// (duplicate_keys). A key is a hash of data that a duplicate would have, too.
package people
