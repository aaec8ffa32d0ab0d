// Package timeline owns what happened between a member and the people in their
// network: notes to remember and interactions that took place. Logging an
// interaction restarts a keep-in-touch interval.
package timeline
