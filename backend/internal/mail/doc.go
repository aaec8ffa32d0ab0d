// Package mail sends the service's few emails by SMTP, in the background.
//
// An email is written and sent by a worker, so that the response time of a page does
// not reveal whether there was a recipient. The queue is bounded: if it is full, the
// email is dropped and its owner has to ask again. Emails contain links that expire
// within half an hour, so they are not stored: after a restart, a member asks again as
// well.
//
// Package web writes the emails; package account owns the links in them.
package mail
