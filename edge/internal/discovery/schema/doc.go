// Package schema reads the input schemas of the tool catalogue (JSON Schema 2020-12,
// as the generator writes them: inlined, one object at the root). It describes the
// arguments of a tool for people, and makes arguments to show as an example.
//
// It is not a full validator: it knows only the keywords of the catalogue. The tests
// check its examples with a real validator.
package schema
