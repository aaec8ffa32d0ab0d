// Package insights reads a member's network as a whole: who knows people at an
// organisation, what to know before a meeting, who should meet whom, who is like whom, how
// the network is doing.
//
// The rules are pure functions. Who is like whom, who should meet whom, who is at
// an organisation and how the network is doing are found in the search index in memory; other
// answers are read with a fixed number of statements,
// with limits on the number of rows. Neither grows with the network. Every line of an
// answer is [Evidence]: a sentence, and the ids of the records it is based on. Text by
// members is quoted as data and cut at a limit. Archived people are in no answer.
package insights
