// Package identity serves POST /agent/identity: an agent asks whose access it
// holds, or what it may do with none. No credential is ever issued here and
// there is nothing to claim: a member signs in and approves the client.
package identity
