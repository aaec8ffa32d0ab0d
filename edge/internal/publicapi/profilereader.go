package publicapi

import (
	"context"
	"slices"
	"strings"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// format is the form in which a profile is shown.
type format uint8

const (
	asJSON format = iota
	asMarkdown
)

func (f format) contentType() string {
	if f == asMarkdown {
		return typeMarkdown
	}
	return typeJSON
}

// profileKey names a profile in one form. The username is normal.
type profileKey struct {
	username string
	format   format
}

// profileReader reads profiles, rendered and from memory if it may.
type profileReader struct {
	backend Backend
	base    string
	cache   *cache // nil remembers nothing, and shares no reads
	flights shared
}

func newProfileReader(o Options) *profileReader {
	p := &profileReader{backend: o.Backend, base: o.BaseURL}
	if o.CacheTTL > 0 {
		p.cache = newCache(maxCached, o.CacheTTL, o.Now)
	}
	return p
}

// read returns the profile, or nil if there is none. Nothing is remembered of a
// profile that is not there, so that one made public shows at once.
func (p *profileReader) read(ctx context.Context, key profileKey) (*representation, error) {
	if p.cache == nil {
		return p.fetch(ctx, key)
	}
	if rep, ok := p.cache.get(key); ok {
		return rep, nil
	}
	name := key.username + "/" + string('0'+rune(key.format))
	value, err := p.flights.do(ctx, name, func(ctx context.Context) (any, error) {
		rep, err := p.fetch(ctx, key)
		if rep != nil {
			p.cache.put(key, rep)
		}
		return rep, err
	})
	rep, _ := value.(*representation)
	return rep, err
}

func (p *profileReader) fetch(ctx context.Context, key profileKey) (*representation, error) {
	profiles, err := p.profiles(ctx, key.username)
	if err != nil {
		return nil, err
	}
	for _, profile := range profiles {
		if strings.EqualFold(profile.GetUsername(), key.username) {
			return p.render(profile, key.format)
		}
	}
	return nil, nil // no profile is no error
}

// profiles reads the profile of a username, or those preloaded with it.
func (p *profileReader) profiles(ctx context.Context, username string) ([]*directoryv1.Profile, error) {
	if preload, ok := ctx.Value(preloadKey{}).(*preloaded); ok && slices.Contains(preload.usernames, username) {
		return preload.profiles(ctx)
	}
	return p.backend.BatchGetProfiles(ctx, username)
}

func (p *profileReader) render(profile *directoryv1.Profile, f format) (*representation, error) {
	if f == asMarkdown {
		return newRepresentation(appendMarkdown(nil, profile, p.base), typeMarkdown), nil
	}
	body, err := marshalProfile(profile, p.base)
	if err != nil {
		return nil, err
	}
	return newRepresentation(body, typeJSON), nil
}
