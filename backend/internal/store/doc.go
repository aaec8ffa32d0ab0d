// Package store keeps everything, in SQLite or in PostgreSQL, with the same code.
//
// Two walls stand between one member's data and another's. The first is this
// package's shape: rows of a tenant are reached only through a Tenant, which is
// bound to one, and every statement it makes goes through a scope that adds the
// tenant's condition. The second is the database: references carry tenant_id,
// and in PostgreSQL row-level security shows the tenant's role nothing else. A
// read-only tenant is refused by its handle and by triggers.
//
// Service-wide rows (members, credentials, public profiles) belong to Store.
// Outcomes come back as fault errors: only "no rows" is not found, an outage
// stays an outage.
package store
