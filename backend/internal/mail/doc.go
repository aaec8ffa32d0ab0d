// Package mail sends the service's few letters by SMTP, in the background.
//
// A letter is written and sent by a worker, so that how long a page takes tells
// nothing of whether there was anybody to write to. The queue is bounded: when it
// is full the letter is dropped and its owner asks again, which beats a server
// that remembers letters for ever. Letters hold links that end within half an
// hour, so a process that stops loses nothing that a retry would not replace.
//
// Package web writes the emails; package account owns the links in them.
package mail
