// Package account owns members and what they use to sign in: their names and plan,
// their profile and who may see which field of it, their sessions and personal tokens,
// and how often a password may be tried.
//
// Cookies and tokens are stored as hashes only. A security event is one line of the log
// and one row that the member can read; it contains no secret and no typed text. The
// people in a member's network are in package people.
package account
