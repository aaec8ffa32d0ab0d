// Package indextest is the relevance set: people who are made up, questions about
// them by class, and whom each should find. There are two sets of people from
// different names and seeds; the search was tuned while looking at the first.
package indextest
