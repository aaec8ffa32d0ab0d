// Package static serves documents that do not change while the process runs: each
// is made once, with its entity tag and its headers, and HEAD and 304 follow from
// them (RFC 9110, sections 9.3.2 and 13). It chooses among representations by
// Accept, and keeps versioned files for good.
//
// It does not know what a document says.
package static
