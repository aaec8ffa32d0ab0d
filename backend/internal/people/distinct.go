package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// DistinctPair is two records that the member marked as different people, and its database row.
// FindDuplicates leaves the pair out.
type DistinctPair struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	// FirstID is the lower one of the two ids.
	FirstID  string `json:"first_id"`
	SecondID string `json:"second_id"`
	// SaidBy is the name of the credential that marked them; empty if the member did so on a page.
	SaidBy    string    `json:"said_by"`
	CreatedAt time.Time `json:"created_at"`
}

// PairOf returns two ids, the lower one first.
func PairOf(one, other string) [2]string { return [2]string{min(one, other), max(one, other)} }

// NewDistinctPair returns a pair without an id. Its credential and its time are those of w.
func NewDistinctPair(w *db.Tx, one, other string) DistinctPair {
	pair := PairOf(one, other)
	return DistinctPair{TenantID: w.TenantID(), FirstID: pair[0], SecondID: pair[1], SaidBy: w.Actor().CredentialName, CreatedAt: w.Now()}
}

// Distinguish records that two people are not the same, and returns the id of the change; empty
// if that was recorded before. It fails with fault.Invalid if both are one person, with
// fault.NotFound if one does not exist, and with fault.Conflict if one is archived.
func Distinguish(ctx context.Context, w *db.Tx, one, other string) (string, error) {
	if one == other {
		return "", fault.New(fault.Invalid, "name two people")
	}
	first, err := live(ctx, w, one)
	if err != nil {
		return "", err
	}
	second, err := live(ctx, w, other)
	if err != nil {
		return "", err
	}
	pair := NewDistinctPair(w, one, other)
	if held, err := findDistinctPair(ctx, w, &pair); err != nil || held != "" {
		return "", err
	}
	if err := insertDistinctPair(ctx, w, &pair); err != nil {
		return "", err
	}
	return history.Record(ctx, w, history.One("Said that "+first.Name+" and "+second.Name+" are not the same", history.DistinctPair, pair.ID, nil, pair))
}
