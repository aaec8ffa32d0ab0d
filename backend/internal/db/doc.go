// Package db opens the database, SQLite or PostgreSQL, and is the only package that opens
// a transaction or names a dialect. It knows no feature.
//
//	DB       statements and transactions across tenants: authentication, claims of jobs,
//	         sweeps, the public directory, members and their credentials
//	Tenant   reads of one tenant, and the start of its writes
//	Tx       one write transaction of one tenant
//	Reader   what a Tenant and a Tx share: statements that read one tenant's rows
//
// Two walls stand between one member's data and another's. The first is the shape of
// these types: a feature reaches a tenant's rows through a Reader or a Tx only, each bound
// to one tenant, and From adds the tenant's condition. The second is the database:
// references carry tenant_id, and in PostgreSQL row-level security shows the tenant's role
// nothing else. A read-only tenant is refused by its handle and by triggers.
//
// Errors come back coded by package fault where a caller can act on them (Coded): "no
// rows" alone is not found, an outage stays an outage.
package db
