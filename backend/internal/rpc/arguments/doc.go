// Package arguments says in plain words what is wrong with the arguments of a call:
// every field that breaks a rule, in one answer, for the model that has to correct
// them.
//
// It owns the wording of these errors. The contract has the rules: the shape of the messages
// and protovalidate's annotations. Rules that need the store belong to the domain.
package arguments
