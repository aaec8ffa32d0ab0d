// Command fosite is a token endpoint by ory/fosite with its storage in memory and opaque
// tokens. GET /seed?n=N returns N refresh tokens, from the password grant.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/storage"
)

// locked adds a lock to the memory store, whose rotation of refresh tokens has none. Without it,
// concurrent map writes would crash the process.
type locked struct {
	*storage.MemoryStore

	refresh sync.Mutex
}

func (s *locked) CreateRefreshTokenSession(ctx context.Context, signature, access string, req fosite.Requester) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	return s.MemoryStore.CreateRefreshTokenSession(ctx, signature, access, req)
}

func (s *locked) GetRefreshTokenSession(ctx context.Context, signature string, session fosite.Session) (fosite.Requester, error) {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	return s.MemoryStore.GetRefreshTokenSession(ctx, signature, session)
}

func (s *locked) RotateRefreshToken(ctx context.Context, requestID, signature string) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	return s.MemoryStore.RotateRefreshToken(ctx, requestID, signature)
}

func main() {
	data.Load()
	store := &locked{MemoryStore: storage.NewMemoryStore()}
	store.Clients["web"] = &fosite.DefaultClient{ID: "web", Public: true, GrantTypes: fosite.Arguments{"password", "refresh_token"}, Scopes: fosite.Arguments{"offline"}}
	store.Users["member"] = storage.MemoryUserRelation{Username: "member", Password: "password"}
	config := &fosite.Config{GlobalSecret: []byte(rand.Text() + rand.Text())}
	provider := compose.Compose(config, store, compose.NewOAuth2HMACStrategy(config),
		compose.OAuth2ResourceOwnerPasswordCredentialsFactory, //nolint:staticcheck // the simplest grant, to seed refresh tokens
		compose.OAuth2RefreshTokenGrantFactory)
	token := func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		request, err := provider.NewAccessRequest(ctx, r, &fosite.DefaultSession{})
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		for _, scope := range request.GetRequestedScopes() {
			request.GrantScope(scope)
		}
		answer, err := provider.NewAccessResponse(ctx, request)
		if err != nil {
			provider.WriteAccessError(ctx, w, request, err)
			return
		}
		provider.WriteAccessResponse(ctx, w, request, answer)
	}
	form := url.Values{"grant_type": {"password"}, "client_id": {"web"}, "username": {"member"}, "password": {"password"}, "scope": {"offline"}}
	data.ServeTokens(http.HandlerFunc(token), func(context.Context) (string, error) {
		login := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form.Encode()))
		login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		token(answer, login)
		var body struct {
			Refresh string `json:"refresh_token"`
		}
		err := json.Unmarshal(answer.Body.Bytes(), &body)
		return body.Refresh, err
	})
}
