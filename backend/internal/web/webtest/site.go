package webtest

import (
	"cmp"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/books"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/outbound"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/proto/catalog"
)

// Password is the password of every member created by Member.
const Password = "violet kettle drum"

// cost is the smallest that argon2 accepts: tests compute hundreds of hashes, and the
// race detector makes each many times slower.
var cost = password.Cost{MemoryKiB: 8, Passes: 1}

// Clock is a clock that does not move by itself.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock set to the present.
func NewClock() *Clock { return &Clock{now: time.Now().UTC().Truncate(time.Second)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Options change the defaults of a site: open to sign-up, without mail, over http, with
// no limit on attempts.
type Options struct {
	TLS bool
	// Web changes the configuration of the pages.
	Web func(c *web.Config)
	// Auth changes the configuration of the authorization server.
	Auth func(c *oauth.Config)
	// Locale is that of the members, and what the browsers ask for; empty for "en".
	Locale string
	// Breaker makes calls to the database fail; nil does not.
	Breaker *dbtest.Breaker
}

// Site is a running site.
type Site struct {
	URL   string
	Store *db.DB
	// Keys are the idempotency keys of the authorization server.
	Keys  *idempotency.Keys
	Clock *Clock
	Web   *web.Web
	// Sources are those that the pages add calendars to.
	Sources *sources.Sources

	server *httptest.Server
	locale string
}

// New starts a site on a new SQLite database, for the duration of the test.
func New(t testing.TB, o Options) *Site {
	t.Helper()
	return Start(t, dbtest.SQLite(t), o)
}

// Each calls test with a site on each kind of database.
func Each(t *testing.T, o Options, test func(t *testing.T, s *Site)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) { test(t, Start(t, url, o)) })
}

// Start starts a site on a migrated database.
func Start(t testing.TB, databaseURL string, o Options) *Site {
	t.Helper()
	clock := NewClock()
	if o.Breaker == nil {
		o.Breaker = &dbtest.Breaker{}
	}
	s := &Site{locale: cmp.Or(o.Locale, "en"), Clock: clock, Store: dbtest.OpenBreakable(t, databaseURL, clock.Now, o.Breaker.Fault)}
	s.Keys = dbtest.Keys(t, s.Store)
	mux := http.NewServeMux()
	s.server = httptest.NewUnstartedServer(mux)
	s.URL = "http://localhost" + s.server.Listener.Addr().String()[len("127.0.0.1"):] // passkeys need a name
	if o.TLS {
		s.URL = "https://" + s.server.Listener.Addr().String()
	}
	s.mount(t, mux, o)
	if o.TLS {
		s.server.StartTLS()
	} else {
		s.server.Start()
	}
	t.Cleanup(s.server.Close)
	return s
}

func (s *Site) mount(t testing.TB, mux *http.ServeMux, o Options) {
	t.Helper()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	pages := web.Config{
		BaseURL: s.URL, Store: s.Store, Catalog: rpcs, Kinds: kinds.All(), SignUpOpen: true, DAV: true, Now: s.Clock.Now, Login: &account.RatePolicy{}, PasswordCost: cost,
		Data:     func(owner tenant.ID) *db.Tenant { return s.Store.Tenant(owner, false) },
		Handlers: handlersOf(s.Store, s.Clock.Now),
	}
	secrets, err := secretkey.Create(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	pages.Secrets = secrets
	fetcher := sources.NewFetcher(outbound.Options{}, false)
	pages.Sources = &sources.Sources{Store: s.Store, Secrets: secrets, Fetcher: fetcher, Books: &books.Reader{Store: s.Store, Fetcher: fetcher}}
	if o.Web != nil {
		o.Web(&pages)
	}
	s.Sources = pages.Sources
	if s.Web, err = web.New(pages); err != nil {
		t.Fatal(err)
	}
	server := oauth.Config{
		Issuer: s.URL, Store: s.Store, Keys: s.Keys, Sessions: s.Web, Pages: s.Web, Catalog: rpcs, AccessLifetime: time.Hour,
		RefreshIdle: 60 * 24 * time.Hour, Events: s.Web.Events(), Now: s.Clock.Now, Logger: pages.Logger,
	}
	if server.Logger == nil {
		server.Logger = testLogger()
	}
	if o.Auth != nil {
		o.Auth(&server)
	}
	s.Web.Mount(mux)
	oauth.New(server).Mount(mux)
}

// handlersOf returns what the pages call, without vectors and without workers.
func handlersOf(store *db.DB, now func() time.Time) *handlers.Handlers {
	find := search.NewIndexCache(func(ctx context.Context, t tenant.ID, since int64) (search.Documents, error) {
		return search.LoadDocuments(ctx, store.Tenant(t, true), since)
	}, 0)
	searcher := search.NewSearcher(search.Config{
		Indexes: find, Provider: vector.Local{}, Vectors: func(ctx context.Context, t tenant.ID, model string, since int64) (vector.Vectors, error) {
			return search.LoadVectors(ctx, store.Tenant(t, true), model, since)
		},
	})
	return handlers.New(handlers.Config{Store: store, Kinds: kinds.All(), Indexes: find, Search: searcher, Jobs: &waker{}, Now: now})
}

// waker replaces the workers, which webtest does not have.
type waker struct{ job.Hub }

func (*waker) Wake() {}

// hash is the hash of the password, computed once.
var hash = sync.OnceValues(func() (string, error) { return cost.Hash(Password) })

// Hash returns the hash of Password, as Member stores it.
func (s *Site) Hash(t testing.TB) string {
	t.Helper()
	h, err := hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Member creates a member with Password.
func (s *Site) Member(t testing.TB, username string) tenant.ID {
	t.Helper()
	m := &account.Member{
		Username: username, Email: username + "@people.example", PasswordHash: s.Hash(t), Plan: account.PlanFree, Timezone: "UTC", Locale: s.locale,
	}
	if err := account.CreateMember(t.Context(), s.Store, m); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// SignedIn creates a member and returns their browser, signed in.
func (s *Site) SignedIn(t testing.TB, username string) *Browser {
	t.Helper()
	return s.BrowserOf(t, s.Member(t, username))
}

// BrowserOf returns a new browser in which the member is signed in.
func (s *Site) BrowserOf(t testing.TB, owner tenant.ID) *Browser {
	t.Helper()
	secret, err := account.NewSecret("")
	if err != nil {
		t.Fatal(err)
	}
	m, err := account.GetMemberByID(t.Context(), s.Store, owner)
	if err != nil {
		t.Fatal(err)
	}
	row := &account.LoginSession{Hash: account.HashSecret(secret), MemberID: owner, AccessEpoch: m.AccessEpoch, Device: account.DeviceOf(""), ExpiresAt: s.Clock.Now().Add(14 * 24 * time.Hour)}
	if err := account.CreateLoginSession(t.Context(), s.Store, row); err != nil {
		t.Fatal(err)
	}
	b := s.Browser(t)
	b.Owner = owner
	b.SetCookie(b.CookieName("kith_session"), secret)
	return b
}

// Client registers an OAuth client with one redirect URI.
func (s *Site) Client(t testing.TB, name, redirectURI string) *oauth.Client {
	t.Helper()
	c := &oauth.Client{Name: name, RedirectURIs: []string{redirectURI}}
	if err := oauth.CreateClient(t.Context(), s.Store, c); err != nil {
		t.Fatal(err)
	}
	return c
}
