// Package logging builds the logger of a process and carries request ids.
//
// The logger keeps credentials out of the log in two ways: an attribute or group
// with a telling key (authorization, password, code …) has its value replaced,
// and a Kith token is cut out of every line, wherever in it the token stands.
// What it cannot know is a foreign secret under a harmless key or inside a
// message: do not log bodies, raw queries or header values.
//
// The key "code" is among the telling ones, because it is the parameter that
// carries an authorization code. Log an error's code as "error_code".
package logging
