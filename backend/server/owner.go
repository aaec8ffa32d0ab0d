package server

import (
	"context"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web"
)

// OwnerLinkLifetime is how long an owner link works.
const OwnerLinkLifetime = account.OwnerLinkLifetime

// OwnerLink returns a new link with which the first member creates their account in a browser,
// once; empty if there is a member besides those of the sandbox, or if the server has no public
// address.
func (s *Server) OwnerLink(ctx context.Context) (string, error) {
	if s.pages == nil {
		return "", nil
	}
	link, err := newOwnerLink(ctx, s.store, s.config.BaseURL)
	if fault.Is(err, fault.Conflict) {
		return "", nil
	}
	return link, err
}

// OwnerLink returns a new link that creates the first member, as Server.OwnerLink does. baseURL is
// the public address of the service. It fails if there is a member already.
func (a *Admin) OwnerLink(ctx context.Context, baseURL string) (string, error) {
	link, err := newOwnerLink(ctx, a.store, baseURL)
	if fault.Is(err, fault.Conflict) {
		return "", fault.New(fault.Conflict, "there is a member already: sign in at %s, or create another one with kith member create", baseURL+web.PathSignIn)
	}
	return link, err
}

func newOwnerLink(ctx context.Context, s *db.DB, baseURL string) (string, error) {
	secret, err := account.CreateOwnerLink(ctx, s)
	if err != nil {
		return "", err
	}
	return baseURL + web.PathOwner + "?" + url.Values{web.FieldLink: {secret}}.Encode(), nil
}
