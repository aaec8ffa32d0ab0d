// Package sandbox generates the demo account: an invented member with an invented network
// that anyone may read without signing in.
//
// It owns the demo data, the sample import files and the ready-made requests of the
// sandbox page. It owns no storage and no HTTP, and imports the standard library alone.
// The network is a [Document] in the format of Kith's lossless JSON export; the backend
// imports it.
//
// # Determinism
//
// [Build] takes a day and nothing else. Each part draws from its own random number
// generator (PCG, seeded with a constant and the name of the part), so a change to one
// part doesn't change the others:
//
//	seed ─┬─ rng "people"       ─┐
//	      ├─ rng "interactions" ─┼─ plan: names, texts, ids, days before or after
//	      └─ rng "…"            ─┘                    │
//	day ─────────────────────────────── calendar ─────┴─→ Dataset
//
// No draw depends on the day. So the same day gives the same bytes, and another day gives
// the same people, ids and texts with every date moved. "Due this week", "birthday today"
// and "losing touch" are never empty.
//
// # No real people
//
// Names combine common given and family names; organizations are invented; every domain
// ends in .example (RFC 2606); phone numbers come from the ranges reserved for fiction
// (+1 NXX 555-0100 to 0199 and +44 20 7946 0000 to 0999).
package sandbox
