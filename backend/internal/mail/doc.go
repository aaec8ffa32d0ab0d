// Package mail sends the service's few emails by SMTP, in the background.
//
// An email is written and sent by a worker, so that how long a page takes tells
// nothing of whether there was anybody to write to. The queue is bounded: when it
// is full the email is dropped and its owner asks again, which beats a server
// that remembers emails for ever. Emails hold links that end within half an
// hour, so a process that stops loses nothing that a retry would not replace.
//
// Package web writes the emails; package account owns the links in them.
package mail
