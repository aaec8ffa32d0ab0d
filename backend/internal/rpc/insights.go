package rpc

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/proto/gen/kith/insights/v1/insightsv1connect"
)

// insights implements InsightService.
type insights struct {
	insightsv1connect.UnimplementedInsightServiceHandler

	store  *store.Store
	finder *finder.Finder
	now    func() time.Time
}
