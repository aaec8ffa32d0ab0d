package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Access is the access of a member at the moment when a password, a session, a passkey or an
// identity was checked. What is done with it later, such as storing a new credential, needs that
// the member's epoch is still the same: otherwise access was revoked in between.
//
// The epoch is members.access_epoch. Everything that revokes access increments it under an exclusive lock
// of the member's row: a new password, a suspension, a changed second factor, ended sessions, "this
// was not me". Everything that stores a credential holds a lock of that row until it commits. So each
// credential is either stored before a revocation, which ends it, or not at all.
type Access struct {
	Owner tenant.ID
	Epoch int64
	// SessionID is the login session that acts; empty for none. It must not have ended.
	SessionID string
}

// ErrAccessEnded is the error of an action whose access was revoked after it was checked.
var ErrAccessEnded = errors.New("access was revoked in the meantime")

// Access returns the access of a member whose password was checked.
func (m *Member) Access() Access { return Access{Owner: m.ID, Epoch: m.AccessEpoch} }

// Access returns the access of a session.
func (l *LoginSession) Access() Access {
	return Access{Owner: l.MemberID, Epoch: l.AccessEpoch, SessionID: l.ID}
}

// memberLock is how a transaction locks the row of a member.
type memberLock string

const (
	// shareLock is for storing a credential. A transaction with it must not update the member.
	shareLock memberLock = "FOR SHARE"
	// changeLock is for revoking access, and for changing the member.
	changeLock memberLock = "FOR NO KEY UPDATE"
)

// lockMember locks the row of a member until the transaction ends, and returns the present epoch. To
// prevent deadlocks, it is the first statement of a transaction on credentials. It fails with
// fault.NotFound if there is no such member. SQLite has one writer, and needs no lock.
func lockMember(ctx context.Context, tx db.Querier, owner tenant.ID, lock memberLock) (epoch int64, err error) {
	err = tx.NewRaw("SELECT access_epoch FROM members WHERE id = ?"+db.LockRows(tx, string(lock)), owner).Scan(ctx, &epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.New(fault.NotFound, "there is no such member")
	}
	return epoch, err
}

// StoreCredential runs fn in a transaction that holds a lock of the member's row, and commits only if
// the access was not revoked since it was checked: otherwise it fails with ErrAccessEnded. An error
// of fn comes first. fn may run twice, and must not update the member.
func StoreCredential(ctx context.Context, s *db.DB, a Access, fn func(context.Context, db.Querier) error) error {
	return withAccess(ctx, s, a, shareLock, fn)
}

// changeAccess is StoreCredential for what changes the member or revokes access. No other transaction
// on the member's credentials runs at the same time.
func changeAccess(ctx context.Context, s *db.DB, a Access, fn func(context.Context, db.Querier) error) error {
	return withAccess(ctx, s, a, changeLock, fn)
}

func withAccess(ctx context.Context, s *db.DB, a Access, lock memberLock, fn func(context.Context, db.Querier) error) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		epoch, err := lockMember(ctx, tx, a.Owner, lock)
		if err != nil {
			return err
		}
		live, err := sessionLives(ctx, s, tx, a)
		if err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if !live || epoch != a.Epoch {
			return ErrAccessEnded
		}
		return nil
	})
}

// sessionLives reports whether the session of the access, if it has one, has not ended.
func sessionLives(ctx context.Context, s *db.DB, tx db.Querier, a Access) (bool, error) {
	if a.SessionID == "" {
		return true, nil
	}
	var found int
	err := tx.NewRaw("SELECT 1 FROM login_sessions WHERE id = ? AND member_id = ? AND expires_at > ?", a.SessionID, a.Owner, s.Now()).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// RevokeAccess runs fn in a transaction that locks the member exclusively, and starts a new epoch. It
// is for revocations that need no access, such as those of an operator.
func RevokeAccess(ctx context.Context, s *db.DB, owner tenant.ID, fn func(context.Context, db.Querier) error) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if _, err := lockMember(ctx, tx, owner, changeLock); err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return raiseEpoch(ctx, tx, owner)
	})
}

// raiseEpoch ends everything that was begun with the member's access and is not stored yet: sign-ins
// that wait for the second factor, and authorization codes that were not exchanged, belong to the old
// epoch. The member must be locked with changeLock.
func raiseEpoch(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	_, err := tx.NewRaw("UPDATE members SET access_epoch = access_epoch + 1 WHERE id = ?", owner).Exec(ctx)
	return err
}

// LockForChange locks the row of a member for a transaction that ends the access of agents. It does
// nothing if there is no such member.
func LockForChange(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	_, err := lockMember(ctx, tx, owner, changeLock)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// LockForCredential locks the row of a member for a transaction that stores credentials, and returns
// the present epoch. It fails with fault.NotFound if there is no such member.
func LockForCredential(ctx context.Context, tx db.Querier, owner tenant.ID) (epoch int64, err error) {
	return lockMember(ctx, tx, owner, shareLock)
}
