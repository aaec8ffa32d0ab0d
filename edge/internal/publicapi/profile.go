package publicapi

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
)

// maxCached is how many rendered profiles are cached.
const maxCached = 4096

// ServeJSON serves a profile as JSON.
func (a *API) ServeJSON(w http.ResponseWriter, r *http.Request, username string) {
	a.serveProfile(w, r, username, asJSON)
}

// ServeMarkdown serves a profile as Markdown.
func (a *API) ServeMarkdown(w http.ResponseWriter, r *http.Request, username string) {
	a.serveProfile(w, r, username, asMarkdown)
}

// ServeProfilePage serves a profile as a page.
func (a *API) ServeProfilePage(w http.ResponseWriter, r *http.Request, username string) {
	a.serveProfile(w, r, username, asPage)
}

func (a *API) serveProfile(w http.ResponseWriter, r *http.Request, username string, f format) {
	failures := &a.failures
	if f == asPage {
		failures = &a.pageFailures
	}
	username, ok := normalUsername(username)
	if !ok {
		failures.Errors.WriteError(w, r, noProfile)
		return
	}
	if httpapi.Refuses(r.Header["Accept"], f.contentType()) {
		failures.Errors.WriteError(w, r, httpapi.Error{Code: httpapi.NotAcceptable, Detail: "This path serves " + f.contentType() + " only."})
		return
	}
	document, err := a.profiles.read(r.Context(), profileKey{username: username, format: f})
	switch {
	case err != nil:
		failures.Write(w, r, err, httpapi.Internal)
	case document == nil:
		failures.Errors.WriteError(w, r, noProfile)
	default:
		document.Serve(w, r, "")
	}
}

// noProfile answers for a member who does not exist, is private or is suspended.
var noProfile = httpapi.Error{Code: httpapi.NotFound, Detail: "No public profile has this username."}

// Bounds of a username: ^[a-z0-9](?:[a-z0-9-]{1,28}[a-z0-9])$.
const (
	minUsername = 3
	maxUsername = 30
)

// normalUsername returns the username in lower case, or false if no member can
// have it.
func normalUsername(s string) (string, bool) {
	if len(s) < minUsername || len(s) > maxUsername || s[0] == '-' || s[len(s)-1] == '-' {
		return "", false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return "", false
		}
	}
	return strings.ToLower(s), true
}

// format is the form in which a profile is shown.
type format uint8

const (
	asJSON format = iota
	asMarkdown
	asPage
)

func (f format) contentType() string {
	switch f {
	case asMarkdown:
		return typeMarkdown
	case asPage:
		return page.Type
	default:
		return typeJSON
	}
}

// profileKey identifies a profile in one form. The username is in its normal form.
type profileKey struct {
	username string
	format   format
}

// profileReader returns rendered profiles, from its cache if they have not expired.
type profileReader struct {
	backend Backend
	pages   *page.Pages
	base    string
	ttl     time.Duration // 0 caches nothing and shares no reads
	now     func() time.Time
	cache   *lru.Cache[profileKey, cached]
	flights shared
}

// cached is a rendered profile in the cache, until it expires.
type cached struct {
	document *httpapi.Document
	expires  time.Time
}

func newProfileReader(o Options) (*profileReader, error) {
	cache, err := lru.New[profileKey, cached](maxCached)
	if err != nil {
		return nil, fmt.Errorf("create profile cache: %w", err)
	}
	return &profileReader{backend: o.Backend, pages: o.Pages, base: o.BaseURL, ttl: o.CacheTTL, now: o.Now, cache: cache}, nil
}

// read returns the profile, or nil if there is none. A missing profile is not cached, so that a
// profile is shown as soon as it is public.
func (p *profileReader) read(ctx context.Context, key profileKey) (*httpapi.Document, error) {
	if p.ttl <= 0 {
		return p.fetch(ctx, key)
	}
	if c, ok := p.cache.Get(key); ok && p.now().Before(c.expires) {
		return c.document, nil
	}
	name := key.username + "/" + string('0'+rune(key.format))
	value, err := p.flights.do(ctx, name, func(ctx context.Context) (any, error) {
		document, err := p.fetch(ctx, key)
		if document != nil {
			p.cache.Add(key, cached{document, p.now().Add(p.ttl)})
		}
		return document, err
	})
	document, _ := value.(*httpapi.Document)
	return document, err
}

func (p *profileReader) fetch(ctx context.Context, key profileKey) (*httpapi.Document, error) {
	profiles, err := p.profiles(ctx, key.username)
	if err != nil {
		return nil, err
	}
	for _, profile := range profiles {
		if strings.EqualFold(profile.GetUsername(), key.username) {
			return p.render(profile, key.format)
		}
	}
	return nil, nil // a missing profile is not an error
}

// profiles reads the profile of a username, together with those preloaded with it.
func (p *profileReader) profiles(ctx context.Context, username string) ([]*directoryv1.Profile, error) {
	if preload, ok := ctx.Value(preloadKey{}).(*preloaded); ok && slices.Contains(preload.usernames, username) {
		return preload.profiles(ctx)
	}
	return p.backend.BatchGetProfiles(ctx, username)
}

func (p *profileReader) render(profile *directoryv1.Profile, f format) (*httpapi.Document, error) {
	forPeople := page.Alternate{Type: "text/html", Address: PageURL(p.base, profile.GetUsername())}
	switch f {
	case asMarkdown:
		return newDocument(appendMarkdown(nil, profile, p.base), typeMarkdown, nil, forPeople), nil
	case asPage:
		return p.renderPage(newHuman(profile, p.base))
	}
	body, err := json.Marshal(newHuman(profile, p.base))
	if err != nil {
		return nil, fmt.Errorf("marshal profile: %w", err)
	}
	return newDocument(body, typeJSON, nil, forPeople), nil
}

// sharedTimeout limits a read that several callers wait for.
const sharedTimeout = 10 * time.Second

// shared makes one read for simultaneous callers that ask for the same profile. The zero
// value is ready to use. It is safe for concurrent use.
type shared struct {
	flights singleflight.Group
}

// do returns what read returns. The read continues when the caller who started it leaves,
// because others may wait for it; it ends after sharedTimeout. Each caller waits until its
// own context ends, and then gets that context's error.
func (s *shared) do(ctx context.Context, key string, read func(context.Context) (any, error)) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start a shared read: %w", err)
	}
	done := s.flights.DoChan(key, func() (value any, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
		defer cancel()
		defer func() { // net/http does not recover panics of this goroutine
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic in a shared read: %v\n%s", cause, debug.Stack())
			}
		}()
		return read(ctx)
	})
	select {
	case result := <-done:
		return result.Val, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a shared read: %w", ctx.Err())
	}
}

type preloadKey struct{}

// preloaded has the profiles for which a caller makes several requests together.
type preloaded struct {
	usernames []string
	reading   shared
	read      func() ([]*directoryv1.Profile, error) // once
}

// profiles reads all of them once; later calls return the same result. ctx limits only the wait.
func (p *preloaded) profiles(ctx context.Context) ([]*directoryv1.Profile, error) {
	value, err := p.reading.do(ctx, "", func(context.Context) (any, error) { return p.read() })
	profiles, _ := value.([]*directoryv1.Profile)
	return profiles, err
}

// Preload returns a context with which the first read of one of these profiles reads all
// of them with one call of the backend. The call continues when ctx ends, because others
// may wait for the same profiles.
func (a *API) Preload(ctx context.Context, usernames []string) context.Context {
	var names []string
	for _, username := range usernames {
		if name, ok := normalUsername(username); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return ctx
	}
	return context.WithValue(ctx, preloadKey{}, &preloaded{
		usernames: names,
		read: sync.OnceValues(func() ([]*directoryv1.Profile, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedTimeout)
			defer cancel()
			return a.options.Backend.BatchGetProfiles(ctx, names...)
		}),
	})
}
