package oauth

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// ClientUse is a client, and how many grants it has.
type ClientUse struct {
	Client `bun:",extend"`

	// Grants is the number of grants that are not revoked.
	Grants int
}

// ListClients returns the clients that have grants, those with the most grants first.
func ListClients(ctx context.Context, s *db.DB) ([]ClientUse, error) {
	var clients []ClientUse
	err := s.NewRaw(`SELECT c.id, c.name, c.created_at, c.last_used_at, count(*) AS grants
FROM clients c JOIN grants g ON g.client_id = c.id AND g.revoked_at IS NULL
GROUP BY c.id, c.name, c.created_at, c.last_used_at ORDER BY grants DESC, c.id`).Scan(ctx, &clients)
	return clients, err
}

// ClientGrant is a grant with the member who gave it.
type ClientGrant struct {
	Grant

	Username string
}

// ListClientGrants returns the live grants of a client, of all members, the oldest first.
func ListClientGrants(ctx context.Context, s *db.DB, clientID string) ([]ClientGrant, error) {
	var grants []ClientGrant
	err := s.NewRaw(`SELECT g.id, g.member_id, g.scopes, g.created_at, g.last_used_at, g.paused_at, m.username
FROM grants g JOIN members m ON m.id = g.member_id WHERE g.client_id = ? AND g.revoked_at IS NULL ORDER BY g.id`, clientID).Scan(ctx, &grants)
	return grants, err
}

// ClientNames returns the names that clients give themselves, by their ids; ids of no client are
// left out.
func ClientNames(ctx context.Context, s *db.DB, ids []string) (map[string]string, error) {
	var rows []struct{ ID, Name string }
	err := s.NewRaw("SELECT id, name FROM clients WHERE id IN (?)", bun.List(ids)).Scan(ctx, &rows)
	names := map[string]string{}
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

// RevokeClient ends all access of a client, and its pending requests, for all members,
// and returns the members who had granted it access. It fails with fault.NotFound if
// there is no such client. The client stays registered: members can grant it access
// again.
func RevokeClient(ctx context.Context, s *db.DB, clientID string) (owners []tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		var known string
		err := tx.NewRaw("SELECT id FROM clients WHERE id = ?", clientID).Scan(ctx, &known)
		if _, err = db.Found(&known, err, "there is no client "+clientID); err != nil {
			return err
		}
		// In this order: a request that is answered meanwhile creates a code, and a
		// code that is redeemed creates a grant.
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE client_id = ?",
			"DELETE FROM authorization_codes WHERE client_id = ? AND used_at IS NULL",
		} {
			if _, err := tx.NewRaw(statement, clientID).Exec(ctx); err != nil {
				return err
			}
		}
		return tx.NewRaw("UPDATE grants SET revoked_at = ? WHERE client_id = ? AND revoked_at IS NULL RETURNING member_id", s.Now(), clientID).Scan(ctx, &owners)
	})
	return owners, err
}
