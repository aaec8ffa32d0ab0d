package account

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
)

// directory is the directory for one audience. Its texts are SQL without arguments, because the
// databases use a partial index only if its condition is in the statement.
type directory struct {
	shown string // which profiles
	words string // the expression with the searched words of a profile
	index string // the column with these words in SQLite's full-text index
}

var (
	publicDirectory = newDirectory("listed AND visibility = 'public'", "search_text", "public_words")
	memberDirectory = newDirectory("listed AND visibility IN ('public', 'members')", "member_text", "member_words")
)

// newDirectory writes conditions and words with the same expressions as the indexes.
func newDirectory(shown, text, index string) directory {
	return directory{"coalesce(" + shown + ", FALSE)", "CASE WHEN " + shown + " THEN " + text + " || ' ' || username END", index}
}

// ListPublicProfiles returns the listed public profiles whose username or public words contain
// each of the words: sorted by name, at most limit, and only those after the position. The
// words are folded and contain no spaces.
func ListPublicProfiles(ctx context.Context, s *db.DB, words []string, after Position, limit int) ([]Profile, error) {
	return publicDirectory.list(ctx, s, words, after, limit)
}

// listMemberProfiles is ListPublicProfiles for members, who can see more profiles and fields.
// Callers reduce the result to that audience.
func listMemberProfiles(ctx context.Context, s *db.DB, words []string, after Position, limit int) ([]Profile, error) {
	return memberDirectory.list(ctx, s, words, after, limit)
}

const (
	// indexed is the minimum length of a word in the full-text index, in characters.
	indexed = 3
	// nearby is how many profiles are read per wanted profile before the full-text index is used.
	// Common words are found within these; for rare words, sorting all matches takes a few
	// milliseconds.
	nearby = 50
)

// list first reads some of the directory by name. If that does not find enough matches, and was not
// the whole directory, the words are rare or their profiles are at the end: then it finds all matches
// with the full-text index and sorts them. The query planners of both databases sometimes choose the slower way.
func (d directory) list(ctx context.Context, s *db.DB, words []string, after Position, limit int) ([]Profile, error) {
	var long []string
	for _, word := range words {
		if utf8.RuneCountInString(word) >= indexed {
			long = append(long, word)
		}
	}
	byName := "SELECT " + d.columns(s) + " FROM profiles WHERE " + d.shown + " AND (sort_name, username) > (?, ?) ORDER BY sort_name, username"
	if len(long) == 0 {
		return d.matching(ctx, s, byName, []any{after.SortName, after.Username}, words, after, limit)
	}
	found, err := d.matching(ctx, s, byName+" LIMIT ?", []any{after.SortName, after.Username, nearby * limit}, words, after, limit)
	if err != nil || len(found) == limit {
		return found, err
	}
	if more, err := d.hasMore(ctx, s, after, nearby*limit); err != nil || !more {
		return found, err
	}
	from, args := d.having(s, long)
	return d.matching(ctx, s, from, args, words, after, limit)
}

// columns returns the columns of a profile.
func (d directory) columns(s *db.DB, of ...string) string {
	return string(db.Columns[Profile](s, of...))
}

// hasMore reports whether more than read profiles come after a position.
func (d directory) hasMore(ctx context.Context, s *db.DB, after Position, read int) (bool, error) {
	var numbers []int
	err := s.NewRaw("SELECT 1 FROM profiles WHERE "+d.shown+" AND (sort_name, username) > (?, ?) ORDER BY sort_name, username LIMIT 1 OFFSET ?",
		after.SortName, after.Username, read).Scan(ctx, &numbers)
	return len(numbers) > 0, err
}

// having selects the profiles with the words by the full-text index. It may select a few others.
func (d directory) having(s *db.DB, long []string) (from string, args []any) {
	if s.Engine() == "sqlite" {
		quoted := make([]string, len(long))
		for i, word := range long {
			quoted[i] = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
		}
		return "SELECT " + d.columns(s, "p") + " FROM directory_words AS w CROSS JOIN profiles AS p ON p.number = w.rowid WHERE w.directory_words MATCH ?",
			[]any{d.index + " : (" + strings.Join(quoted, " AND ") + ")"}
	}
	conditions := make([]string, len(long))
	for i, word := range long {
		conditions[i] = "kith_trigrams(" + d.words + ") @> (SELECT kith_trigrams(?))"
		args = append(args, word)
	}
	// OFFSET 0 keeps PostgreSQL from merging this subquery with the rest of the statement.
	return "SELECT " + d.columns(s) + " FROM profiles WHERE " + strings.Join(conditions, " AND ") + " OFFSET 0", args
}

// matching selects one page of the directory from some profiles.
func (d directory) matching(ctx context.Context, s *db.DB, from string, args []any, words []string, after Position, limit int) ([]Profile, error) {
	var rows []Profile
	q := s.NewSelect().Model(&rows).ModelTableExpr("("+from+") AS ?TableAlias", args...).
		Where(d.shown).
		Where("(SELECT m.suspended_at FROM members AS m WHERE m.id = ?TableAlias.member_id) IS NULL").
		Where("(sort_name, username) > (?, ?)", after.SortName, after.Username)
	for _, word := range words {
		q = q.Where(`(`+d.words+`) LIKE '%' || ? || '%' ESCAPE '\'`, db.LikeEscape(word))
	}
	err := q.OrderExpr("sort_name, username").Limit(int64(limit)).Scan(ctx)
	return rows, err
}
