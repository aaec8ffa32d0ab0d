// Package sandbox is the demo account: a made-up member with a made-up network that
// anyone may read without signing in.
//
// It owns the people, the dates, the sample import files and the ready-made requests of
// the mount page. It owns no storage, no HTTP and no wire format: it is a leaf that
// imports the standard library alone, and whoever seeds a database copies its rows.
//
// # Determinism
//
// [Build] takes a day and nothing else. Each part draws from its own PCG stream (a fixed
// seed and the name of the part), so a change to one part leaves the others alone:
//
//	seed ─┬─ stream "people"       ─┐
//	      ├─ stream "interactions" ─┼─ plan: names, texts, ids, days before or after
//	      └─ stream "…"            ─┘                    │
//	day ─────────────────────────────── calendar ────────┴─→ Dataset
//
// No draw depends on the day. Therefore the same day gives the same bytes, and another
// day gives the same people, ids and texts with every date moved. "Due this week",
// "birthday today" and "losing touch" are never empty.
//
// # Nobody is real
//
// Names combine common given and family names; organisations are invented; every domain
// ends in .example (RFC 2606); phone numbers come from the ranges kept for fiction
// (+1 NXX 555-0100 to 0199 and +44 20 7946 0000 to 0999).
package sandbox
