package rpc

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/proto/gen/kith/reminders/v1/remindersv1connect"
)

// reminders implements ReminderService.
type reminders struct {
	remindersv1connect.UnimplementedReminderServiceHandler

	store *store.Store
	now   func() time.Time
}
