// Package insights reads a member's network as a whole: who knows somebody at an
// organisation, what to know before a meeting, who should meet whom, who is like
// whom, how the network is doing.
//
// The rules are pure functions over rows. The rows are read with a fixed number of
// statements for each answer, which bound what they return: an answer over 100,000 people
// costs as many statements as one over ten.
// Every line of an answer is [Evidence]: what is said, and the ids of the records
// that it rests on. What members wrote is quoted as data and cut at a bound.
// People who are archived are in no answer.
package insights
