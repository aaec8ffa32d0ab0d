package rpc

import (
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/proto/gen/kith/organize/v1/organizev1connect"
)

// organizers implements OrganizeService.
type organizers struct {
	organizev1connect.UnimplementedOrganizeServiceHandler

	store *store.Store
}
