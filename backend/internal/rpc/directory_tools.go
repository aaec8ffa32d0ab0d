package rpc

import (
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/proto/gen/kith/directory/v1/directoryv1connect"
)

// directoryTools implements DirectoryService.
type directoryTools struct {
	directoryv1connect.UnimplementedDirectoryServiceHandler

	store *store.Store
}
