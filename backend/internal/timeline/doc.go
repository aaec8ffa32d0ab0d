// Package timeline owns the history between a member and the people in their network:
// notes and interactions. Logging an interaction restarts a keep-in-touch interval.
package timeline
