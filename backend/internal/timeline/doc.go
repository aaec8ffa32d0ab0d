// Package timeline owns what happened between a member and the people in their
// network: notes to remember and interactions that took place. Logging an
// interaction is what starts a keep-in-touch interval anew.
//
// Writer and Reader are what it needs of a store, bound to one tenant and, for
// Writer, to one transaction.
package timeline
