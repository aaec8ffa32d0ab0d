package call

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	jobsv1 "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	timelinev1 "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

// QuotaContext returns the context for the transaction of a request. Requests that delete, cancel or
// undo something may exceed the member's quota: see db.WithExtraQuota.
func QuotaContext(ctx context.Context, request any) context.Context {
	switch request.(type) {
	case *connectionsv1.DeleteConnectionRequest, *timelinev1.DeleteTimelineEntryRequest, *jobsv1.CancelJobRequest, *accountv1.UndoChangeRequest:
		return db.WithExtraQuota(ctx)
	}
	return ctx
}
