package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/catalog"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// rememberClients is how many clients are cached.
const rememberClients = 1024

// clients caches recently used clients, so that a refresh does not read its client from
// the store. A registered client never changes; it can only be deleted, if it was never
// used. clients is safe for concurrent use.
type clients struct {
	store *db.DB
	keep  time.Duration
	now   func() time.Time

	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	client *Client
	until  time.Time
}

func newClients(store *db.DB, keep time.Duration, now func() time.Time) *clients {
	return &clients{store: store, keep: keep, now: now, known: map[string]remembered{}}
}

// get returns a client, as GetClient does.
func (c *clients) get(ctx context.Context, id string) (*Client, error) {
	now := c.now()
	c.mu.Lock()
	entry, ok := c.known[id]
	c.mu.Unlock()
	if ok && now.Before(entry.until) {
		return entry.client, nil
	}
	client, err := GetClient(ctx, c.store, id)
	if err != nil || c.keep <= 0 {
		return client, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= rememberClients {
		clear(c.known) // emptying the cache sometimes is cheaper than tracking the oldest entry
	}
	c.known[id] = remembered{client: client, until: now.Add(c.keep)}
	return client, nil
}

// Bounds of a client ID metadata document: of its URL, in characters, and of its
// redirect URIs. A document may list more of them than a registration, because a client
// can register several times.
const (
	maxDocumentURL          = 500
	maxDocumentRedirectURIs = 50
)

// IsDocumentURL reports whether a client id can be the URL of a client ID metadata
// document (draft-ietf-oauth-client-id-metadata-document, section "Client Identifier"):
// https, a path, no fragment, no user name and no dot segments. Beyond the draft it
// needs a domain name, in lower-case ASCII.
func IsDocumentURL(clientID string) bool {
	if len(clientID) > maxDocumentURL || strings.ContainsFunc(clientID, notAddress) || !strings.HasPrefix(clientID, "https://") {
		return false
	}
	u, err := url.Parse(clientID)
	if err != nil || u.User != nil || strings.Contains(clientID, "#") || !isPlainHost(u) {
		return false
	}
	host := u.Hostname()
	if host != strings.ToLower(host) || strings.Contains(host, ":") || endsInNumber(host) || !strings.Contains(host, ".") {
		return false
	}
	return len(u.Path) > 1 && !slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// clientDocument holds the members of a client ID metadata document that this server
// uses. A document is written for every authorization server: what this one does not
// support is ignored.
type clientDocument struct {
	registration

	clientID                string
	secret, secretExpiresAt json.RawMessage
	// authMethods are all methods with which the client can authenticate (OpenID
	// Connect Relying Party Metadata Choices 1.0); AuthMethod is the preferred one.
	authMethods []string
}

// parseClientDocument parses the document at a URL. It fails with fault.Invalid if the
// document belongs to another client or describes a client that this server cannot
// serve.
func parseClientDocument(clientID string, body []byte, privateSchemes bool) (*Client, error) {
	d := &clientDocument{}
	members := d.members()
	members["client_id"], members["token_endpoint_auth_methods_supported"] = &d.clientID, &d.authMethods
	members["client_secret"], members["client_secret_expires_at"] = &d.secret, &d.secretExpiresAt
	if err := decodeMetadata(body, members); err != nil {
		return nil, err
	}
	if err := d.check(clientID); err != nil {
		return nil, err
	}
	c := &Client{
		ID: clientID, Name: ShownName(text.Line(d.ClientName)),
		RedirectURIs: slices.DeleteFunc(d.RedirectURIs, func(uri string) bool { return CheckRedirectURI(uri, privateSchemes) != nil }),
		GrantTypes:   slices.DeleteFunc(grantTypes(), func(grant string) bool { return d.GrantTypes != nil && !slices.Contains(d.GrantTypes, grant) }),
	}
	if len(c.RedirectURIs) == 0 {
		return nil, fault.New(fault.Invalid, "it names no return address that is allowed here")
	}
	if isClientURI(d.ClientURI) {
		c.ClientURI = d.ClientURI
	}
	if slices.Contains(applicationTypes(), d.ApplicationType) {
		c.ApplicationType = d.ApplicationType
	}
	return c, nil
}

// check rejects a document that this service cannot support.
func (d *clientDocument) check(clientID string) error {
	switch {
	case d.clientID != clientID:
		return fault.New(fault.Invalid, "its client_id is another address")
	case d.secret != nil || d.secretExpiresAt != nil:
		return fault.New(fault.Invalid, "it contains a client secret, which everyone can read")
	case strings.HasPrefix(d.AuthMethod, "client_secret_"):
		return fault.New(fault.Invalid, "its token_endpoint_auth_method needs a secret that everyone can read")
	case d.AuthMethod != "" && d.AuthMethod != "none" && !slices.Contains(d.authMethods, "none"),
		d.AuthMethod == "" && d.authMethods != nil && !slices.Contains(d.authMethods, "none"):
		return fault.New(fault.Invalid, "it does not allow the token_endpoint_auth_method none, the only one here")
	case d.GrantTypes != nil && !slices.Contains(d.GrantTypes, grantTypes()[0]):
		return fault.New(fault.Invalid, "its grant_types lack authorization_code")
	case d.ResponseTypes != nil && !slices.Contains(d.ResponseTypes, responseTypes()[0]):
		return fault.New(fault.Invalid, "its response_types lack code")
	case len(d.RedirectURIs) > maxDocumentRedirectURIs:
		return fault.New(fault.Invalid, "it names more than %d return addresses", maxDocumentRedirectURIs)
	}
	return CheckClientName(d.ClientName)
}

// The bounds of client lookups.
const (
	// rememberDocuments is how many documents are cached, valid and invalid.
	rememberDocuments = 1024
	// retryDocument is how long a failed document is not requested again. The draft
	// forbids caching errors; this is only a short pause.
	retryDocument = 10 * time.Second
	// documentBurst is how many documents one member can have fetched at once, and
	// documentPace the interval after which one more is allowed.
	documentBurst = 10
	documentPace  = 30 * time.Second
	// rememberMembers is for how many members these limits are tracked.
	rememberMembers = 4096
)

// documents looks up clients by their client ID metadata documents. It is safe for
// concurrent use.
type documents struct {
	fetcher        *clientdoc.Fetcher
	privateSchemes bool
	now            func() time.Time
	logger         *slog.Logger

	known    *lru.Cache[string, lookedUp]
	limiters *lru.Cache[tenant.ID, *rate.Limiter]
	flights  singleflight.Group
}

// lookedUp is a cached result: the client of a document, or why it cannot be used.
type lookedUp struct {
	client *Client
	err    error
	until  time.Time
}

// newDocuments returns nil if there is no fetcher: then clients cannot use documents.
func newDocuments(c Config) *documents {
	if c.Documents == nil {
		return nil
	}
	known, _ := lru.New[string, lookedUp](rememberDocuments)          // fails only for an invalid size
	limiters, _ := lru.New[tenant.ID, *rate.Limiter](rememberMembers) // likewise
	return &documents{
		fetcher: c.Documents, privateSchemes: c.AllowPrivateSchemes, now: c.Now, logger: c.Logger, known: known, limiters: limiters,
	}
}

// get returns the client whose id is the URL of its document. A document that is not
// cached is fetched, once for all concurrent callers. It fails with fault.Invalid if
// the document cannot be used, fault.Exhausted if the member had too many fetched, and
// fault.Unavailable if all members together did.
func (d *documents) get(ctx context.Context, clientID string, asking tenant.ID) (*Client, error) {
	if found, ok := d.remembered(clientID); ok {
		return found.client, found.err
	}
	limiter := rate.NewLimiter(rate.Every(documentPace), documentBurst)
	if earlier, ok, _ := d.limiters.PeekOrAdd(asking, limiter); ok {
		limiter = earlier
	}
	if !limiter.AllowN(d.now(), 1) {
		return nil, fault.New(fault.Exhausted, "too many applications were looked up")
	}
	client, err, _ := d.flights.Do(clientID, func() (any, error) {
		if found, ok := d.remembered(clientID); ok { // another call has just fetched it
			return found.client, found.err
		}
		return d.fetch(context.WithoutCancel(ctx), clientID)
	})
	if err != nil {
		return nil, err
	}
	return client.(*Client), nil
}

func (d *documents) remembered(clientID string) (lookedUp, bool) {
	found, ok := d.known.Get(clientID)
	return found, ok && d.now().Before(found.until)
}

// fetch fetches a document and caches the result.
func (d *documents) fetch(ctx context.Context, clientID string) (*Client, error) {
	body, age, err := d.fetcher.Fetch(ctx, clientID)
	var client *Client
	if err == nil {
		client, err = parseClientDocument(clientID, body, d.privateSchemes)
	}
	if fault.Is(err, fault.Unavailable) {
		return nil, err
	}
	if err != nil {
		d.logger.InfoContext(ctx, "client id metadata document refused", "host", hostOf(clientID), "error", err, "cause", errors.Unwrap(err))
		age = retryDocument
	}
	d.known.Add(clientID, lookedUp{client: client, err: err, until: d.now().Add(age)})
	return client, err
}

// Preset is what an agent may do in the areas that the member allows it.
type Preset string

// The presets. Each permits more than the one before.
const (
	// PresetRead permits reading.
	PresetRead Preset = "read"
	// PresetAdd permits reading, and adding by the tools of catalog.AddingTools.
	PresetAdd Preset = "add"
	// PresetAll permits everything that the agent asks for.
	PresetAll Preset = "all"
)

// PresetsOf returns the presets that differ for an agent with these scopes. The last one is
// everything that they permit.
func PresetsOf(c *catalog.Catalog, scopes []string) []Preset {
	switch {
	case !slices.Contains(scopes, catalog.ScopeWrite):
		return []Preset{PresetRead}
	case permitsNothing(scopes):
		return []Preset{PresetAll}
	}
	if _, adds := c.ReadAndAdd(scopes); adds {
		return []Preset{PresetRead, PresetAdd, PresetAll}
	}
	return []Preset{PresetRead, PresetAll}
}

// Apply returns the scopes of a preset in the areas, and the tools that it is limited to; none
// means no limit. It fails with fault.Invalid for an unknown preset.
func (p Preset) Apply(c *catalog.Catalog, areas []string) (scopes, tools []string, err error) {
	areas = slices.DeleteFunc(slices.Clone(areas), func(scope string) bool { return scope == catalog.ScopeWrite })
	switch p {
	case PresetRead:
		return areas, nil, nil
	case PresetAdd:
		writing := append(slices.Clone(areas), catalog.ScopeWrite)
		if tools, adds := c.ReadAndAdd(writing); adds {
			return writing, tools, nil
		}
		return areas, nil, nil
	case PresetAll:
		return append(areas, catalog.ScopeWrite), nil, nil
	}
	return nil, nil, fault.InvalidField("preset", "choose what it may do")
}

// PresetOf returns the preset of a grant.
func (g Grant) PresetOf() Preset {
	switch {
	case !slices.Contains(g.scopes(), catalog.ScopeWrite):
		return PresetRead
	case g.Tools != "":
		return PresetAdd
	}
	return PresetAll
}

// Durations are for how many days a member can allow access; 0 means until it is revoked.
func Durations() []int { return []int{30, 90, 0} }
