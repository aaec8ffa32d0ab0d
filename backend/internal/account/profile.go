package account

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
	"golang.org/x/text/language"
)

// Visibility is who may see a profile or one of its fields.
type Visibility string

// The visibilities; an unset one means private.
const (
	Private Visibility = "private"
	Members Visibility = "members"
	Public  Visibility = "public"
)

// The fields that have their own visibility.
const (
	FieldHeadline     = "headline"
	FieldBio          = "bio"
	FieldLocation     = "location"
	FieldOrganization = "organization"
	FieldTitle        = "title"
	FieldSkills       = "skills"
	FieldLanguages    = "languages"
	FieldLinks        = "links"
	FieldOpenTo       = "open_to"
	FieldAvatarURL    = "avatar_url"
)

// Fields returns the names of all fields that have their own visibility.
func Fields() []string {
	return []string{FieldHeadline, FieldBio, FieldLocation, FieldOrganization, FieldTitle, FieldSkills,
		FieldLanguages, FieldLinks, FieldOpenTo, FieldAvatarURL}
}

// Profile is a member's profile, and its row. E-mail, phone and birthday are not part of it,
// because they can never be made public.
type Profile struct {
	MemberID     tenant.ID `bun:",pk" json:"-"`
	Name         string    `json:"name"`
	Headline     string    `json:"headline"`
	Bio          string    `json:"bio"`
	LocationText string    `json:"location_text"`
	Country      string    `json:"country"`
	Organization string    `json:"organization"`
	Title        string    `json:"title"`
	Skills       []string  `bun:"type:text" json:"skills"`
	Languages    []string  `bun:"type:text" json:"languages"`
	Links        []Link    `bun:"type:text" json:"links"`
	OpenTo       []string  `bun:"type:text" json:"open_to"`
	AvatarURL    string    `json:"avatar_url"`
	// Visibility of the whole profile.
	Visibility Visibility `json:"visibility"`
	// FieldVisibility is the visibility of single fields; a missing field is private.
	FieldVisibility map[string]Visibility `bun:"type:text" json:"field_visibility"`
	// Listed is set if the member chose to be in the directory.
	Listed bool `json:"listed"`
	// SearchText contains the folded public words that the directory searches,
	// MemberText those that only members can search.
	SearchText string `json:"-"`
	MemberText string `json:"-"`
	// SortName is the folded name by which the directory is sorted.
	SortName  string    `json:"-"`
	UpdatedAt time.Time `json:"updated_at"`
	// Username is the member's, which never changes.
	Username string `json:"-"`
}

// Link is a web address with its name.
type Link struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Position is a place in the directory's order.
type Position struct{ SortName, Username string }

// Shows reports whether a field is visible to the audience.
func (p *Profile) Shows(field string, audience Visibility) bool {
	v := p.FieldVisibility[field]
	return v == Public || v == Members && audience == Members
}

// ShowsMore reports whether the page or one of its fields has become visible to more people.
func (p *Profile) ShowsMore(before *Profile) bool {
	if p.Visibility.wider(before.Visibility) || p.Listed && !before.Listed {
		return true
	}
	return slices.ContainsFunc(Fields(), func(field string) bool { return p.FieldVisibility[field].wider(before.FieldVisibility[field]) })
}

// wider reports whether the visibility includes more people than another one.
func (v Visibility) wider(than Visibility) bool {
	order := []Visibility{Private, Members, Public}
	return slices.Index(order, v) > max(0, slices.Index(order, than))
}

// Reduce clears every field that the audience may not see.
func (p *Profile) Reduce(audience Visibility) {
	for field, blank := range map[string]func(){
		FieldHeadline:     func() { p.Headline = "" },
		FieldBio:          func() { p.Bio = "" },
		FieldLocation:     func() { p.LocationText, p.Country = "", "" },
		FieldOrganization: func() { p.Organization = "" },
		FieldTitle:        func() { p.Title = "" },
		FieldSkills:       func() { p.Skills = nil },
		FieldLanguages:    func() { p.Languages = nil },
		FieldLinks:        func() { p.Links = nil },
		FieldOpenTo:       func() { p.OpenTo = nil },
		FieldAvatarURL:    func() { p.AvatarURL = "" },
	} {
		if !p.Shows(field, audience) {
			blank()
		}
	}
}

// Index sets SearchText, MemberText and SortName from the fields that each audience can see. fold
// is the text folding of searches. The texts do not include the username, which the directory
// searches separately.
func (p *Profile) Index(fold func(string) string) {
	words := func(audience Visibility) string {
		seen := *p
		seen.Reduce(audience)
		return fold(strings.Join(append([]string{p.Name, seen.Headline, seen.Organization, seen.Title, seen.LocationText}, seen.Skills...), " "))
	}
	p.SearchText, p.MemberText, p.SortName = words(Public), words(Members), fold(p.Name)
}

// Bounds of a profile, in characters and entries.
const (
	MaxName     = 100
	MaxHeadline = 160
	MaxBio      = 4000
	MaxLine     = 120
	MaxEntry    = 40
	MaxSkills   = 20
	MaxEntries  = 10
	MaxURL      = 500
)

// Names of checked fields that have no visibility of their own.
const (
	FieldName       = "name"
	FieldCountry    = "country"
	FieldVisibility = "visibility"
)

// Check cleans the fields and fails with fault.Invalid, naming each field that breaks a
// rule.
func (p *Profile) Check() error {
	c := checker{}
	p.Name = c.name(p.Name)
	p.Headline = c.line(FieldHeadline, p.Headline, MaxHeadline)
	p.Bio = text.Clean(strings.ReplaceAll(p.Bio, "\r\n", "\n"))
	c.length(FieldBio, p.Bio, MaxBio)
	p.LocationText = c.line(FieldLocation, p.LocationText, MaxLine)
	p.Country = c.country(p.Country)
	p.Organization = c.line(FieldOrganization, p.Organization, MaxLine)
	p.Title = c.line(FieldTitle, p.Title, MaxLine)
	p.Skills = c.list(FieldSkills, p.Skills, MaxSkills)
	p.Languages = c.list(FieldLanguages, p.Languages, MaxEntries)
	p.OpenTo = c.list(FieldOpenTo, p.OpenTo, MaxEntries)
	p.Links = c.links(p.Links)
	p.AvatarURL = text.Line(p.AvatarURL)
	if p.AvatarURL != "" && !isWebAddress(p.AvatarURL) {
		c.refuse(FieldAvatarURL, "enter an address that starts with https://")
	}
	c.visibilities(p)
	return c.fault()
}

// checker collects the errors, at most one sentence for each field.
type checker struct{ fields []fault.Field }

func (c *checker) refuse(field, format string, args ...any) {
	if !slices.ContainsFunc(c.fields, func(f fault.Field) bool { return f.Name == field }) {
		c.fields = append(c.fields, fault.Field{Name: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) fault() error {
	if len(c.fields) == 0 {
		return nil
	}
	err := fault.InvalidField(c.fields[0].Name, "%s", c.fields[0].Message)
	err.Fields = c.fields
	return err
}

func (c *checker) length(field, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		c.refuse(field, "use %d characters at most; these are %d", most, n)
	}
}

func (c *checker) line(field, s string, most int) string {
	s = text.Line(s)
	c.length(field, s, most)
	return s
}

// list cleans the entries and removes empty and repeated ones.
func (c *checker) list(field string, entries []string, most int) []string {
	var kept []string
	for _, entry := range entries {
		entry = text.Line(entry)
		if !text.Visible(entry) || slices.Contains(kept, entry) {
			continue
		}
		if utf8.RuneCountInString(entry) > MaxEntry {
			c.refuse(field, "use %d characters at most for each entry", MaxEntry)
		}
		kept = append(kept, entry)
	}
	if len(kept) > most {
		c.refuse(field, "enter %d at most; these are %d", most, len(kept))
	}
	return kept
}

func (c *checker) name(typed string) string {
	name := c.line(FieldName, typed, MaxName)
	if !text.Visible(name) {
		c.refuse(FieldName, "enter the name that others see")
	}
	return name
}

// country accepts an ISO 3166-1 code of two letters.
func (c *checker) country(code string) string {
	code = strings.ToUpper(text.Line(code))
	if code == "" {
		return ""
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() || len(code) != 2 {
		c.refuse(FieldCountry, "enter a country's two letters, for example DE")
	}
	return code
}

func (c *checker) links(links []Link) []Link {
	var kept []Link
	for _, l := range links {
		l.Label, l.URL = text.Line(l.Label), text.Line(l.URL)
		if l == (Link{}) {
			continue
		}
		if problem := l.Problem(); problem != "" {
			c.refuse(FieldLinks, "%s", problem)
		} else if !text.Visible(l.Label) {
			l.Label = ""
		}
		kept = append(kept, l)
	}
	if len(kept) > MaxEntries {
		c.refuse(FieldLinks, "enter %d at most; these are %d", MaxEntries, len(kept))
	}
	return kept
}

// Problem returns what is wrong with a link; empty if nothing is.
func (l Link) Problem() string {
	switch {
	case !isWebAddress(text.Line(l.URL)):
		return "each link needs an address that starts with https://"
	case utf8.RuneCountInString(text.Line(l.Label)) > MaxEntry:
		return fmt.Sprintf("use %d characters at most for each label", MaxEntry)
	}
	return ""
}

func (c *checker) visibilities(p *Profile) {
	known := []Visibility{Private, Members, Public}
	if !slices.Contains(known, p.Visibility) {
		c.refuse(FieldVisibility, "choose who sees the page")
	}
	for field, v := range p.FieldVisibility {
		if !slices.Contains(Fields(), field) || !slices.Contains(known, v) {
			c.refuse(FieldVisibility, "choose who sees each field")
		}
	}
}

// isWebAddress reports whether s is an absolute https address that is safe to link:
// without any part that could be mistaken for another host.
func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= MaxURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsAny(s, " \\\"'<>`") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// shownProfiles selects profiles that an audience may see, with their usernames.
func shownProfiles(s *db.DB, rows *[]Profile, audience Visibility) *bun.SelectQuery {
	q := s.NewSelect().Model(rows).
		ColumnExpr("?TableColumns").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Where("m.suspended_at IS NULL")
	if audience == Members {
		return q.Where("?TableAlias.visibility IN (?, ?)", Public, Members)
	}
	return q.Where("?TableAlias.visibility = ?", Public)
}

// getPublicProfile uses a prepared statement, because it runs for each request for a
// page that the edge has not cached.
func getPublicProfile(ctx context.Context, s *db.DB, username string) ([]Profile, error) {
	var rows []Profile
	statement, err := s.Prepared(ctx, "public profile", func() string {
		return shownProfiles(s, &rows, Public).Where("m.username = ?", bun.Safe("?")).String()
	})
	if err != nil {
		return nil, err
	}
	found, err := statement.Rows(ctx, username) //nolint:rowserrcheck // ScanRows checks the error and closes the rows
	if err != nil {
		return nil, err
	}
	err = s.ScanRows(ctx, found, &rows)
	return rows, err
}

// GetPublicProfiles returns the public profiles among the usernames, in no order;
// unknown, private and suspended members are left out.
func GetPublicProfiles(ctx context.Context, s *db.DB, usernames []string) ([]Profile, error) {
	if len(usernames) == 1 {
		return getPublicProfile(ctx, s, usernames[0])
	}
	var rows []Profile
	err := shownProfiles(s, &rows, Public).Where("m.username IN (?)", bun.List(usernames)).Scan(ctx)
	return rows, err
}

// GetMemberProfile returns the page of a member as other members may see it. It fails
// with fault.NotFound for unknown, private and suspended members alike.
func GetMemberProfile(ctx context.Context, s *db.DB, username string) (*Profile, error) {
	var rows []Profile
	err := shownProfiles(s, &rows, Members).Where("m.username = ?", username).Scan(ctx)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "there is no profile of %q that members can see; search_directory finds members", username)
	}
	rows[0].Reduce(Members)
	return &rows[0], nil
}

// GetProfile returns the member's page with all its fields, or fault.NotFound.
func GetProfile(ctx context.Context, s *db.DB, owner tenant.ID) (*Profile, error) {
	p := &Profile{}
	err := s.NewSelect().Model(p).Where("member_id = ?", owner).Scan(ctx)
	return db.Found(p, err, "there is no such member")
}

// UpdateProfile replaces the page, indexes it and sets UpdatedAt. It fails with
// fault.NotFound if there is no such member whose page may change.
func UpdateProfile(ctx context.Context, s *db.DB, p *Profile) error {
	p.UpdatedAt = s.Now()
	p.Index(text.Fold)
	result, err := s.NewUpdate().Model(p).ExcludeColumn("member_id", "username").
		Where("member_id = ?", p.MemberID).
		Where("NOT EXISTS (SELECT 1 FROM tenant_states st WHERE st.tenant_id = ?TableAlias.member_id AND st.read_only)").Exec(ctx)
	return db.MustMeet(result, err, "there is no such member whose page may change")
}

// GetOwnProfile returns the page with all its fields.
func GetOwnProfile(ctx context.Context, tx *db.Tx) (*Profile, error) {
	p := &Profile{}
	err := tx.NewSelect().Model(p).Where("member_id = ?", tx.TenantID()).Scan(ctx)
	return db.Found(p, err, "there is no such member")
}

// ReplaceProfile replaces the page that was read with p's UpdatedAt by p, and sets a
// new UpdatedAt. It fails with fault.Conflict if the stored page has changed since.
func ReplaceProfile(ctx context.Context, tx *db.Tx, p *Profile) error {
	read := p.UpdatedAt
	p.MemberID, p.UpdatedAt = tx.TenantID(), tx.Now()
	p.Index(text.Fold)
	result, err := tx.NewUpdate().Model(p).ExcludeColumn("member_id", "username").
		Where("member_id = ?", tx.TenantID()).Where("updated_at = ?", read).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update profile: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "the profile has changed since it was read: read it again before you change it")
	}
	return nil
}

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

// profileRestorer restores the member's own page.
type profileRestorer struct{ tx *db.Tx }

func (r profileRestorer) get(ctx context.Context, _ string) (any, error) {
	return GetOwnProfile(ctx, r.tx)
}

// put restores the page, which is never removed.
func (r profileRestorer) put(ctx context.Context, _ string, to json.RawMessage) error {
	var p Profile
	if err := json.Unmarshal(to, &p); err != nil {
		return fmt.Errorf("read recorded profile: %w", err)
	}
	present, err := GetOwnProfile(ctx, r.tx)
	if err != nil {
		return err
	}
	p.UpdatedAt = present.UpdatedAt
	return ReplaceProfile(ctx, r.tx, &p)
}

// RestoreProfile returns the restorer of profiles.
func RestoreProfile(tx *db.Tx) history.Restorer {
	r := profileRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
