// Package change records what writes did: the object before and after, who did
// it and with which tool. The record is what undo works from.
package change

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Change is the record of one write, and the row that holds it.
type Change struct {
	ID       string    `bun:",pk"`
	TenantID tenant.ID `bun:",pk"`
	// CredentialID and CredentialName say on whose behalf an agent wrote.
	CredentialID   string
	CredentialName string
	// Tool is the name of the tool that wrote.
	Tool string
	// ObjectKind and ObjectID say what was written.
	ObjectKind string
	ObjectID   string
	// Before and After are JSON objects; null when the object was not there.
	Before    string
	After     string
	CreatedAt time.Time
}

// Draft is what a write reports of itself; the rest of a Change is known to the
// transaction.
type Draft struct {
	ObjectKind, ObjectID string
	// Before and After are encoded as JSON; nil when the object was not there.
	Before, After any
}

// Encode returns Before and After as JSON texts.
func (d Draft) Encode() (before, after string, err error) {
	b, err := json.Marshal(d.Before)
	if err != nil {
		return "", "", fmt.Errorf("encode change: %w", err)
	}
	a, err := json.Marshal(d.After)
	if err != nil {
		return "", "", fmt.Errorf("encode change: %w", err)
	}
	return string(b), string(a), nil
}
