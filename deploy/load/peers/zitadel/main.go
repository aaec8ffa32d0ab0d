// Command zitadel is the example provider of zitadel/oidc with its storage in memory. GET /seed?n=N
// returns N refresh tokens, each of a login of its own.
package main

import (
	"context"
	"log/slog"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

func main() {
	data.Load()
	base := "http://" + *data.Addr
	storage.RegisterClients(storage.WebClient("web", "secret", base+"/callback"))
	store := storage.NewStorage(storage.NewUserStore(base + "/"))
	server := exampleop.SetupServer(base+"/", store, slog.New(slog.DiscardHandler), false)
	data.ServeTokens(server, func(ctx context.Context) (string, error) { return login(ctx, store) })
}

// login returns a refresh token, as the code flow would.
func login(ctx context.Context, store *storage.Storage) (refresh string, err error) {
	request, err := store.CreateAuthRequest(ctx, &oidc.AuthRequest{ClientID: "web", Scopes: oidc.SpaceDelimitedArray{"openid", "offline_access"}, ResponseType: oidc.ResponseTypeCode}, "")
	if err != nil {
		return "", err
	}
	if err := store.CheckUsernamePassword("test-user2", "verysecure", request.GetID()); err != nil {
		return "", err
	}
	_, refresh, _, err = store.CreateAccessAndRefreshTokens(ctx, request, "")
	return refresh, err
}
