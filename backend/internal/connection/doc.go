// Package connection owns the people in a member's network: what is known of
// them, when two records are one person, and how a record is made and changed.
//
// It decides; it does not keep. Writer and Reader are what it needs of a store,
// bound to one tenant and, for Writer, to one transaction. Notes and
// interactions are in internal/timeline, finding people is in internal/finder.
package connection
