// Package ratelimit owns the rate policies of the public paths, the counting of
// requests in memory or Redis, and the RateLimit headers.
//
//	Limiter ─▶ Store.Take ─▶ Decision ─▶ WriteHeaders
//	               │
//	               ├─ Memory    the windows of this process
//	               ├─ Redis     windows that several edges share
//	               └─ Fallback  Redis while it answers, else Memory
//
// A fixed window begins with its first hit. A sliding window never admits more than the
// quota in any period of the window's length. A refused hit never prolongs a wait.
//
// Fallback has two states. Limits apply in both:
//
//	shared ──Failures errors in a row──▶ local   (quota ÷ nodes, at least 1)
//	   ▲                                   │
//	   └────────── a probe is answered ────┘     (in the background, every Probe)
//
// The policy of each path is in package route, the answers of refused requests in httpapi
// and mcp.
package ratelimit
