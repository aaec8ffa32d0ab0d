package ratelimit

import "time"

// SetClock replaces the server's clock for sliding windows.
func (r *Redis) SetClock(now func() time.Time) { r.now = now }

// KeyName is the name in Redis of a key.
func (r *Redis) KeyName(p Policy, key string) string { return r.name(p, key) }
