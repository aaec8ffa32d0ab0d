// Package schema reads the bounded schemas of the tool catalogue (JSON Schema as the
// generator writes it: inlined, one object at the root). It describes the
// arguments of a tool for people, and makes arguments to show as an example.
//
// It is not a full validator: it knows only the keywords of the catalogue. The tests
// check its examples with a real validator.
package schema
