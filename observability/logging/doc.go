// Package logging builds the logger of a process and carries request ids.
//
// The logger keeps credentials out of the log in two ways. It replaces the value of
// every attribute or group with a sensitive key (authorization, password, code …), and
// it removes Kith tokens from every line, wherever in the line they are. It cannot
// recognise any other secret under a harmless key or inside a message: do not log
// bodies, raw queries or header values.
//
// The key "code" is sensitive because it is the parameter that carries an authorization
// code. Log the code of an error as "error_code".
package logging
