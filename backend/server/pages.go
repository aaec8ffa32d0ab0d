package server

import (
	"context"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

// pages are the web pages and the authorization server, with the mail that they send.
type pages struct {
	mailer *mail.Mailer // nil without an SMTP server
	site   *web.Web
}

// newPages builds the pages and adds them to the mux.
func newPages(c Config, data *db.DB, used func(sessionID string, at time.Time), ledger *billing.Ledger, keys *idempotency.Keys, rpcs *catalog.Catalog, vectors vector.Provider, calls *handlers.Handlers, calendars *sources.Sources, mailed func(outcome string), mux *http.ServeMux) (*pages, error) {
	p := &pages{}
	config := web.Config{
		BaseURL: c.BaseURL, Store: data, Kinds: kinds.All(), Catalog: rpcs, SignUpOpen: c.SignUp, SandboxOn: c.Sandbox, DAV: c.DAV, SessionLifetime: c.SessionLifetime,
		SessionIdle: c.SessionIdle, Used: used,
		Data:             func(owner tenant.ID) *db.Tenant { return data.Tenant(owner, false) },
		ClientAddress:    clientAddress,
		ReservedUsername: demo.IsUsername(c.Now()),
		Credits: func(ctx context.Context, owner tenant.ID) (*web.Credits, error) {
			balance, err := ledger.GetCredits(ctx, owner)
			return &web.Credits{Used: balance.Used(), Allowance: balance.Allowance}, err
		},
		FlushReads:          ledger.Flush,
		Handlers:            calls,
		RequireSecondFactor: func(plan string) bool { return c.RequireSecondFactor == "on" || c.RequireSecondFactor == plan },
		EmbeddingsHost:      vectors.Host(), EmbeddingsModel: vectors.Model(), Now: c.Now, Logger: c.Logger,
	}
	var err error
	if config.Passwords, err = c.Breached.policy(c.Logger); err != nil {
		return nil, err
	}
	if c.Login != nil {
		config.Login = &account.RatePolicy{Quota: c.Login.Quota, Window: c.Login.Window}
	}
	if c.IdentityProvider != nil {
		external, err := c.IdentityProvider.provider()
		if err != nil {
			return nil, err
		}
		config.Provider = external
	}
	if config.Secrets, err = openSecrets(context.Background(), c, data); err != nil {
		return nil, err
	}
	calendars.Secrets, config.Sources = config.Secrets, calendars
	if c.SMTPURL != "" {
		if p.mailer, err = mail.New(mail.Config{URL: c.SMTPURL, Observe: mailed, Logger: c.Logger}); err != nil {
			return nil, err
		}
		config.Mailer = p.mailer
	}
	site, err := web.New(config)
	if err != nil {
		return nil, err
	}
	p.site = site
	site.Mount(mux)
	authorization := oauth.Config{
		Issuer: c.BaseURL, Store: data, Keys: keys, Sessions: site, Pages: site, Catalog: rpcs,
		AccessLifetime: c.AccessLifetime, RefreshIdle: c.RefreshIdle, RememberClients: time.Minute, AllowPrivateSchemes: c.AllowPrivateSchemes,
		ClientAddress: config.ClientAddress, Events: site.Events(), Now: c.Now, Logger: c.Logger,
	}
	if c.ClientDocuments {
		authorization.Documents = clientdoc.New(clientdoc.Options{})
	}
	oauth.New(authorization).Mount(mux)
	return p, nil
}

func (p *pages) start(ctx context.Context) {
	if p.mailer != nil {
		p.mailer.Start(ctx)
	}
}

// stop sends the queued mail, until ctx ends.
func (p *pages) stop(ctx context.Context) {
	if p.mailer != nil {
		p.mailer.Stop(ctx)
	}
}

// clientAddress returns the IP address of the client of the edge.
func clientAddress(r *http.Request) string { return r.Header.Get(connectheader.ClientAddress) }
