// Package schema reads the bounded schemas of the tool catalogue, and those of answers (JSON
// Schema as the generator writes it: one object at the root). It describes the arguments
// of a tool and the fields of its answer for people, and makes example arguments.
//
// It is not a full validator: it knows only the keywords of the catalogue. The tests
// check its examples with a real validator.
package schema
