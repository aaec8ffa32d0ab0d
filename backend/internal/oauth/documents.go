package oauth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

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
