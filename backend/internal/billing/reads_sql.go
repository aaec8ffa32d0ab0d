package billing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// KeepReadDays is for how many days the counts of reads are kept, and SweepReads deletes
// those of a day and of all days before it.
const (
	KeepReadDays = 90
	SweepReads   = "DELETE FROM agent_reads WHERE day <= ?"
)

// ReadDay returns the day on which a call counts: the one in UTC.
func ReadDay(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Reads is the number of calls that an agent made to one read tool on one day, and its database
// row. Only charged calls are counted.
type Reads struct {
	TenantID tenant.ID
	// Day is YYYY-MM-DD, in UTC.
	Day string
	// CredentialID is the grant or the token, CredentialName its name at the last call.
	CredentialID, CredentialName string
	Tool                         string
	Reads                        int
}

// ListReads returns what agents read from a time on, the latest day first, then by name, by
// credential and by tool. Counts of before KeepReadDays are left out.
func ListReads(ctx context.Context, q db.Reader, since time.Time) ([]Reads, error) {
	if kept := q.Now().AddDate(0, 0, 1-KeepReadDays); since.Before(kept) {
		since = kept
	}
	var rows []Reads
	err := q.NewRaw(`SELECT tenant_id, day, credential_id, credential_name, tool, reads FROM agent_reads
WHERE tenant_id = ? AND day >= ? ORDER BY day DESC, credential_name, credential_id, tool`, q.TenantID(), ReadDay(since)).Scan(ctx, &rows)
	return rows, err
}

// readCounts are calls to count, with one entry for each day, credential and tool of a tenant.
type readCounts []Reads

func (c *readCounts) add(call Charge, at time.Time, calls int) {
	if call.CredentialID == "" {
		return
	}
	r := Reads{TenantID: call.Tenant, Day: ReadDay(at), CredentialID: call.CredentialID, CredentialName: call.CredentialName, Tool: call.Tool}
	i := slices.IndexFunc(*c, func(o Reads) bool {
		return o.TenantID == r.TenantID && o.Day == r.Day && o.CredentialID == r.CredentialID && o.Tool == r.Tool
	})
	if i < 0 {
		i = len(*c)
		*c = append(*c, r)
	}
	(*c)[i].Reads += calls
}

// statement returns the statement that adds the counts to the stored ones, and its arguments.
func (c readCounts) statement() (sql string, args []any) {
	for _, r := range c {
		args = append(args, r.TenantID, r.Day, r.CredentialID, r.Tool, r.CredentialName, r.Reads)
	}
	return `INSERT INTO agent_reads (tenant_id, day, credential_id, tool, credential_name, reads)
VALUES ` + strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(c))[2:] + `
ON CONFLICT (tenant_id, day, credential_id, tool) DO UPDATE SET reads = agent_reads.reads + excluded.reads, credential_name = excluded.credential_name`, args
}

// storeWith stores the counts and runs another statement: in PostgreSQL as one, so that
// counting takes no more round trips. The rows of a tenant are not locked by others
// meanwhile, since each charge locks the tenant's balance first.
func (c readCounts) storeWith(ctx context.Context, tx db.Querier, other string, args []any) error {
	if len(c) > 0 {
		count, counted := c.statement()
		if db.OnPostgres(tx) {
			other, args = "WITH counted AS ("+count+") "+other, append(counted, args...)
		} else if _, err := tx.NewRaw(count, counted...).Exec(ctx); err != nil {
			return err
		}
	}
	_, err := tx.NewRaw(other, args...).Exec(ctx)
	return err
}

// CountRead counts a read of the transaction's credential and tool. Call it after ChargeTx,
// which locks the balance.
func CountRead(ctx context.Context, tx *db.Tx) error {
	var c readCounts
	c.add(Charge{Tenant: tx.TenantID(), Tool: tx.Actor().Tool, CredentialID: tx.Actor().CredentialID, CredentialName: tx.Actor().CredentialName}, tx.Now(), 1)
	if len(c) == 0 {
		return nil
	}
	count, args := c.statement()
	_, err := tx.NewRaw(count, args...).Exec(ctx)
	return err
}
