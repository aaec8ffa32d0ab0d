package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// record records a security event unless what it is about failed, and returns err.
func (a *Admin) record(ctx context.Context, err error, kind securityevent.Kind, owner tenant.ID, object string) error {
	if err == nil {
		a.events.Record(ctx, securityevent.Event{Kind: kind, TenantID: owner, ObjectID: object})
	}
	return err
}

// Suspend shuts a member out: from the next call on no sign-in, token or grant
// works, and their page and directory entry are gone. Nothing is deleted.
func (a *Admin) Suspend(ctx context.Context, username string) error {
	owner, err := a.store.SuspendMember(ctx, username)
	return a.record(ctx, err, securityevent.MemberSuspended, owner, "")
}

// Resume lets a suspended member in again. Their tokens and agents work again;
// they have to sign in.
func (a *Admin) Resume(ctx context.Context, username string) error {
	owner, err := a.store.ResumeMember(ctx, username)
	return a.record(ctx, err, securityevent.MemberResumed, owner, "")
}

// ClientInfo is what a list of clients shows.
type ClientInfo struct {
	ID, Name              string
	Grants                int
	CreatedAt, LastUsedAt time.Time
}

// ListClients returns the OAuth clients that members have let in.
func (a *Admin) ListClients(ctx context.Context) ([]ClientInfo, error) {
	clients, err := a.store.ListClients(ctx)
	infos := make([]ClientInfo, len(clients))
	for i, c := range clients {
		infos[i] = ClientInfo{c.ID, c.Name, c.Grants, c.CreatedAt, c.LastUsedAt}
	}
	return infos, err
}

// RevokeClient ends all grants of a client, of all members, and returns how many
// there were. The very next call with one of them is refused.
func (a *Admin) RevokeClient(ctx context.Context, clientID string) (int, error) {
	owners, err := a.store.RevokeClient(ctx, clientID)
	for _, owner := range owners {
		err = a.record(ctx, err, securityevent.AccessRevoked, owner, clientID)
	}
	return len(owners), err
}
