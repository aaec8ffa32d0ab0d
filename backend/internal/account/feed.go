package account

import (
	"context"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// KindFeed is the kind of personal tokens of calendar feeds, and the tenant.Credential kind of them. The secret is part of the address
// that calendar programs subscribe to. It is no bearer token: it calls no tool. Its scopes are FeedParts and, if the calendar is
// limited to the people of a group, the group's id.
const KindFeed = "feed"

// prefixFeed starts the secret of every calendar feed, so that a leaked one can be recognised.
const prefixFeed = "kith_cal_"

// The path of a calendar feed is PathFeed, its secret and FeedSuffix.
const (
	PathFeed   = "/calendar/"
	FeedSuffix = ".ics"
)

// FeedPath returns the path of the calendar feed with a secret.
func FeedPath(secret string) string { return PathFeed + secret + FeedSuffix }

// FeedParts are what a calendar feed can have, in the order in which forms list them.
func FeedParts() []string { return []string{FeedBirthdays, FeedDates, FeedReminders, FeedCadences} }

// The parts of a calendar feed.
const (
	FeedBirthdays = "birthdays"
	// FeedDates are anniversaries and other important dates.
	FeedDates     = "dates"
	FeedReminders = "reminders"
	// FeedCadences are the days on which the member is due to be in touch with people.
	FeedCadences = "keep_in_touch"
)

// CheckFeedParts fails with fault.Invalid unless the parts are one or more of FeedParts.
func CheckFeedParts(parts []string) error {
	unknown := slices.ContainsFunc(parts, func(part string) bool { return !slices.Contains(FeedParts(), part) })
	if len(parts) == 0 || unknown {
		return fault.InvalidField("part", "choose one or more of %s", strings.Join(FeedParts(), ", "))
	}
	return nil
}

// HashFeedSecret returns the stored form of the secret of a calendar feed.
func HashFeedSecret(secret string) string { return HashSecret(KindFeed + " " + secret) }

// NewFeed returns a calendar feed of the member, with its secret. An empty group is for all people.
func NewFeed(access Access, name string, parts []string, groupID string) (feed *PersonalToken, secret string, err error) {
	secret, err = NewSecret(prefixFeed)
	return &PersonalToken{
		MemberID: access.Owner, Name: name, Kind: KindFeed, Hash: HashFeedSecret(secret), Scopes: strings.TrimSpace(strings.Join(parts, " ") + " " + groupID), Access: access,
	}, secret, err
}

// ListFeeds returns a member's calendar feeds, newest first, without those that were removed.
func ListFeeds(ctx context.Context, s *db.DB, owner tenant.ID) ([]PersonalToken, error) {
	return listKind(ctx, s, owner, KindFeed)
}

// RemoveFeed ends a calendar feed of the member; it fails with fault.NotFound if the member has no such feed.
func RemoveFeed(ctx context.Context, s *db.DB, owner tenant.ID, feedID string) error {
	return revokeKind(ctx, s, owner, KindFeed, feedID, fault.New(fault.NotFound, "there is no calendar feed %q", feedID))
}
