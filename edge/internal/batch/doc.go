// Package batch serves POST /api/batch: up to 20 public reads in one request.
//
//	envelope ──▶ resolve ──▶ budget ──▶ read ──▶ answer
//	(envelope.go) (resolve.go) (endpoint.go) (reader.go) (answer.go)
//
// A fault of the envelope is a 400 for all of it. From there on each item has an
// outcome of its own, in the order sent, and the batch is a 200: an item that is
// no batchable read of the route table is 403, one with a credential in its query
// 400, one over the budget of its endpoint's policy 429, and the others are answered
// by the very handlers that answer them alone, as far as there is time and room. Identical reads are made once, and each counts.
package batch
