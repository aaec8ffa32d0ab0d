// Package insights reads a member's network as a whole: who knows somebody at an
// organisation, what to know before a meeting, who should meet whom, who is like
// whom, how the network is doing.
//
// It owns the rules, as pure functions over rows; the store reads the rows, with a
// fixed number of statements for each answer and bounds on what they return, so
// that an answer over 100,000 people costs as many statements as one over ten.
// Every line of an answer is [Evidence]: what is said, and the ids of the records
// that it rests on. What members wrote is quoted as data and cut at a bound.
// People who are archived are in no answer.
package insights
