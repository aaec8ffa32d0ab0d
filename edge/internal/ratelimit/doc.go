// Package ratelimit owns the rate policies of the public paths, the counting of
// requests in memory or Redis, and the RateLimit headers.
//
//	Limiter ─▶ Store.Take ─▶ Decision ─▶ WriteHeaders
//	               │
//	               ├─ Memory    the windows of this process
//	               ├─ Redis     windows that several edges share
//	               └─ Fallback  Redis while it answers, else Memory
//
// A window is fixed and begins with its first hit, or it slides: then no stretch
// of time as long as the window ever holds more than the quota. A refused hit
// never makes anyone wait longer.
//
// Fallback has two states, and it limits in both:
//
//	shared ──Failures errors in a row──▶ local   (quota ÷ nodes, at least 1)
//	   ▲                                   │
//	   └────────── a probe is answered ────┘     (in the background, every Probe)
//
// The package does not know which policy a path has (see route), nor what a
// refusal looks like (see httpapi and mcp).
package ratelimit
