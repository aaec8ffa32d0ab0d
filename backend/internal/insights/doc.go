// Package insights reads a member's network as a whole: who knows people at an
// organisation, what to know before a meeting, who should meet whom, who is like whom, how
// the network is doing.
//
// The rules are pure functions over rows. The rows are read with a fixed number of
// statements for each answer, with limits on the number of rows: an answer over 100,000
// people costs as many statements as one over ten. Every line of an answer is [Evidence]:
// a sentence, and the ids of the records it is based on. Text by members is quoted as data
// and cut at a limit. Archived people are in no answer.
package insights
