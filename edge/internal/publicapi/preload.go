package publicapi

import (
	"context"
	"slices"
	"sync"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

type preloadKey struct{}

// preloaded are profiles that several requests of one caller ask for together.
type preloaded struct {
	usernames []string
	reading   shared
	read      func() ([]*directoryv1.Profile, error) // once
}

// profiles reads all of them, or returns what was read. ctx bounds the wait only.
func (p *preloaded) profiles(ctx context.Context) ([]*directoryv1.Profile, error) {
	value, err := p.reading.do(ctx, "", func(context.Context) (any, error) { return p.read() })
	profiles, _ := value.([]*directoryv1.Profile)
	return profiles, err
}

// Preload returns a context under which the profiles of these usernames are read
// with one call of the backend, when the first of them is asked for. The call goes
// on when ctx ends: others may wait for the same profiles.
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
