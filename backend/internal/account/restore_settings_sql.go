package account

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
)

// RestoreSettings returns the restorer of a member's settings, which are never removed.
func RestoreSettings(tx *db.Tx) history.Restorer {
	return history.Single{
		Get: func(ctx context.Context, _ string) (any, error) { return GetSettings(ctx, tx) },
		Put: func(ctx context.Context, _ string, to json.RawMessage) error {
			var s Settings
			if err := json.Unmarshal(to, &s); err != nil {
				return fmt.Errorf("read recorded settings: %w", err)
			}
			return setSettings(ctx, tx, s)
		},
	}
}
