// Package account owns members: their names and plan, their profile and who may see which of
// its fields, how they sign in, their sessions and personal tokens, security events, and the
// limits on password attempts.
//
// Cookies and tokens are stored as hashes only. A security event is one line of the log
// and one row that the member can read; it contains no secret and no typed text. The
// people in a member's network are in package people.
package account
