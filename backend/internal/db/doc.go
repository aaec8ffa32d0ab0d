// Package db opens the database, SQLite or PostgreSQL, and is the only package that opens
// a transaction or names a dialect. It knows no feature.
//
//	DB       statements and transactions across tenants: authentication, claims of jobs,
//	         sweeps, the public directory, members and their credentials
//	Tenant   reads of one tenant, and the start of its writes
//	Tx       one write transaction of one tenant
//	Reader   what a Tenant and a Tx share: statements that read one tenant's rows
//
// Two mechanisms separate the data of members. The first is the design of these types: a
// feature reaches a tenant's rows only through a Reader or a Tx, each bound to one tenant,
// and From adds the tenant's condition. The second is the database: references include
// tenant_id, and in PostgreSQL row-level security hides all other tenants' rows from the
// tenant's role. Writes to a read-only tenant are refused by its handle and by triggers.
//
// Errors that a caller can act on have a code of package fault (Coded): only "no rows" is
// fault.NotFound, and an outage is never reported as fault.NotFound.
package db
