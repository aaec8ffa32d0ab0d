// Package clientip owns the answer to "which address does this request come
// from": for the log, and as the bucket that rate limits count.
//
// The peer of the connection is the client, unless the operator says that it is
// a proxy of theirs. Then the proxies' header is read from its right end, where
// each of them added the address that it saw:
//
//	X-Forwarded-For: forged, forged, client, proxy 1        peer: proxy 2
//	                                 ▲       ◀──trusted────────trusted
//
// The walk ends at the first address that is not trusted; what stands left of it
// is what the client claims, and is never read.
package clientip
