// Package indextest is the relevance set: invented people, questions about them by class, and the
// people whom each question should find. There are two sets of people, with different names and
// seeds; the search was tuned on the first.
package indextest
