package server

import (
	"context"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/text"
)

// FeedInfo is an entry of the list of calendar feeds. Parts are its parts and, if it is limited to one, the id of a group.
type FeedInfo struct {
	ID, Name              string
	Parts                 []string
	CreatedAt, LastUsedAt time.Time
}

func feedInfo(t *account.PersonalToken) FeedInfo {
	return FeedInfo{t.ID, t.Name, strings.Fields(t.Scopes), t.CreatedAt, t.LastUsedAt}
}

// CreateFeed makes a calendar feed of a member with parts, all if none is given. It returns its description and its address at the
// service's base URL, which is not stored.
func (a *Admin) CreateFeed(ctx context.Context, baseURL, username, name string, parts []string) (made FeedInfo, address string, err error) {
	name = text.Line(name)
	if err := account.CheckName(name); err != nil {
		return made, "", err
	}
	if len(parts) == 0 {
		parts = account.FeedParts()
	}
	if err := account.CheckFeedParts(parts); err != nil {
		return made, "", err
	}
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return made, "", err
	}
	feed, secret, err := account.NewFeed(m.Access(), name, parts, "")
	if err == nil {
		err = account.CreatePersonalToken(ctx, a.store, feed)
	}
	if err := a.record(ctx, err, account.FeedAdded, m.ID, feed.ID); err != nil {
		return made, "", err
	}
	return feedInfo(feed), baseURL + account.FeedPath(secret), nil
}

// ListFeeds returns a member's calendar feeds, newest first.
func (a *Admin) ListFeeds(ctx context.Context, username string) ([]FeedInfo, error) {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return nil, err
	}
	feeds, err := account.ListFeeds(ctx, a.store, m.ID)
	infos := make([]FeedInfo, len(feeds))
	for i := range feeds {
		infos[i] = feedInfo(&feeds[i])
	}
	return infos, err
}

// RemoveFeed removes a member's calendar feed. The next request of its address is not found.
func (a *Admin) RemoveFeed(ctx context.Context, username, feedID string) error {
	m, err := account.GetMember(ctx, a.store, username)
	if err != nil {
		return err
	}
	err = account.RemoveFeed(ctx, a.store, m.ID, feedID)
	return a.record(ctx, err, account.AccessRevoked, m.ID, feedID)
}
