// Package schema reads the input schemas of the tool catalogue (JSON Schema
// 2020-12, as its generator writes them: inlined, one object at the root) and
// tells two things of each: which arguments there are, in words, and arguments to
// show as an example.
//
// It is no validator: it knows the keywords of the catalogue and no others, and
// the tests hold its examples against a real one.
package schema
