package people

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// DefaultMinScore is the lowest score of a pair that is worth showing.
const DefaultMinScore = .75

// Query says which pairs to look for.
type Query struct {
	// ConnectionID narrows the search to pairs with this person unless empty.
	ConnectionID string
	MinScore     float64
	// Limit is the largest number of pairs to return, at least 1.
	Limit int

	// distinct are pairs to leave out, each as PairOf returns it.
	distinct map[[2]string]bool
}

// Pair is two records that may be one person.
type Pair struct {
	// First is the record with more data, or the older one when both have as much.
	First, Second Candidate
	Score         float64
	Reasons       []string
}

// Find returns the pairs, the highest score first, and whether there are more.
func Find(people []Candidate, q Query) (pairs []Pair, more bool) {
	f := duplicateSearch{people: make([]record, len(people)), sharers: map[key][]int{}, only: -1}
	for i := range people {
		f.people[i] = newRecord(&people[i])
		for _, k := range f.people[i].keys {
			f.sharers[k.bare()] = append(f.sharers[k.bare()], i)
		}
		if people[i].ID == q.ConnectionID {
			f.only = i
		}
	}
	if q.ConnectionID != "" && f.only < 0 {
		return nil, false
	}
	for _, candidate := range f.candidates(q.MinScore) {
		a, b := &f.people[candidate[0]], &f.people[candidate[1]]
		if q.distinct[PairOf(a.ID, b.ID)] {
			continue
		}
		score, reasons := compare(a, b, f.count)
		if score+1e-9 < q.MinScore {
			continue
		}
		pair := Pair{First: *a.Candidate, Second: *b.Candidate, Score: score, Reasons: reasons}
		if cmp.Or(cmp.Compare(b.Values, a.Values), strings.Compare(a.ID, b.ID)) > 0 {
			pair.First, pair.Second = pair.Second, pair.First
		}
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.First.ID, y.First.ID), strings.Compare(x.Second.ID, y.Second.ID))
	})
	if len(pairs) > q.Limit {
		return pairs[:q.Limit], true
	}
	return pairs, false
}

// duplicateSearch is a search in progress.
type duplicateSearch struct {
	people  []record
	sharers map[key][]int // who has an address, by its bare key
	only    int           // the one person whose pairs are wanted, or -1
}

// bare is the key without the spelling.
func (k key) bare() key { return key{kind: k.kind, value: k.value} }

func (f *duplicateSearch) count(k key) int { return len(f.sharers[k.bare()]) }

// candidates returns the pairs that can reach a score, each once.
func (f *duplicateSearch) candidates(minScore float64) [][2]int {
	seen := map[[2]int]bool{}
	var out [][2]int
	add := func(a, b int) {
		pair := [2]int{min(a, b), max(a, b)}
		if a != b && (f.only < 0 || a == f.only || b == f.only) && !seen[pair] {
			seen[pair] = true
			out = append(out, pair)
		}
	}
	among := func(block []int) {
		if f.only >= 0 && !slices.Contains(block, f.only) {
			return
		}
		for i, a := range block {
			if f.only >= 0 {
				add(f.only, a)
				continue
			}
			for _, b := range block[i+1:] {
				add(a, b)
			}
		}
	}
	for _, block := range f.sharers {
		if len(block) <= allShare {
			among(block)
		}
	}
	for _, blocks := range f.nameBlocks(minScore) {
		for _, block := range blocks {
			among(block)
		}
	}
	return out
}

// nameBlocks returns sets of people whose names are the same or may be similar. It leaves
// out blocks whose pairs cannot reach the score, and blocks that are too large to be
// useful; of the latter, the blocks of people at one organisation stay.
func (f *duplicateSearch) nameBlocks(minScore float64) []map[string][]int {
	same, compact := map[string][]int{}, map[string][]int{}
	family, given := map[string][]int{}, map[string][]int{}
	for i := range f.people {
		p := &f.people[i]
		if len(p.name) == 0 {
			continue
		}
		put(same, strings.Join(p.name, " "), p, i, minScore > weightName)
		put(compact, p.compactName, p, i, minScore > weightName)
		if minScore > weightSimilar+weightOrganization || p.family == "" {
			continue
		}
		apart := minScore > weightSimilar
		put(family, p.family, p, i, apart)
		put(given, p.given+" "+firstRune(p.family), p, i, apart)
	}
	for _, blocks := range []map[string][]int{same, compact, family, given} {
		for name, block := range blocks {
			if len(block) > maxBlock {
				delete(blocks, name)
			}
		}
	}
	return []map[string][]int{same, compact, family, given}
}

// maxBlock limits how many people are compared with each other.
const maxBlock = 400

// put adds a person to the blocks of a name at each organisation. It also adds them to the
// block of the name, unless only people at one organisation can be a pair.
func put(blocks map[string][]int, name string, p *record, i int, apart bool) {
	for _, o := range p.organizations {
		blocks[name+"\x00"+o] = append(blocks[name+"\x00"+o], i)
	}
	if !apart {
		blocks[name] = append(blocks[name], i)
	}
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// DuplicateKey is the row of a key that duplicates of a person would have, too.
type DuplicateKey struct {
	TenantID     tenant.ID `bun:",pk"`
	Key          int64     `bun:",pk"`
	ConnectionID string    `bun:",pk"`
	Shared       bool
}

// duplicateKeys returns the keys of a person, sorted: for each pair of people whose score
// is above weightName, both have one of them. Keys are hashes; people with an equal key
// need not have anything in common.
func duplicateKeys(c *Connection) []int64 {
	p := Candidate{Name: c.Name, Handles: c.Handles}
	for _, held := range c.Positions {
		if held.Current {
			p.Organizations = append(p.Organizations, held.Organization)
		}
	}
	r := newRecord(&p)
	var keys []int64
	add := func(parts ...string) { keys = append(keys, hashKey(parts...)) }
	for _, k := range r.keys {
		add(k.kind, k.value)
	}
	for _, o := range r.organizations {
		if len(r.name) > 0 {
			add(KindName, strings.Join(r.name, ""), o)
			add(KindName, r.compactName, o)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func hashKey(parts ...string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(parts, "\x00")))
	return int64(h.Sum64()) //nolint:gosec // any number will do
}

// NamesakeKey returns the duplicate key of the people with a name, in any order of its words, at an
// organisation, which is given by its normal name.
func NamesakeKey(name, organization string) int64 {
	words := names.Parse(name).Words
	slices.Sort(words)
	return hashKey(KindName, strings.Join(words, ""), organization)
}

// insertDuplicateKeys inserts the keys of people who have none, and marks those that are
// shared. When others lose a key, the mark stays: it only says where to look.
func insertDuplicateKeys(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var rows []DuplicateKey
	var keys []int64
	for _, c := range people {
		for _, key := range duplicateKeys(c) {
			rows, keys = append(rows, DuplicateKey{TenantID: tx.TenantID(), Key: key, ConnectionID: c.ID}), append(keys, key)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.InsertAll(ctx, &rows, len(rows)); err != nil {
		return fmt.Errorf("insert duplicate keys: %w", err)
	}
	_, err := tx.NewRaw(`UPDATE duplicate_keys SET shared = TRUE WHERE tenant_id = ? AND NOT shared AND key IN (
SELECT key FROM duplicate_keys WHERE tenant_id = ? AND key IN (?) GROUP BY key HAVING count(*) > 1)`,
		tx.TenantID(), tx.TenantID(), bun.List(keys)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark shared duplicate keys: %w", err)
	}
	return nil
}

// replaceDuplicateKeys replaces the keys of those of the people whose keys changed.
func replaceDuplicateKeys(ctx context.Context, tx *db.Tx, people []*Connection) error {
	who := make([]string, len(people))
	for i, c := range people {
		who[i] = c.ID
	}
	var rows []DuplicateKey
	// Without ORDER BY: with it, SQLite would read all rows of the member by the primary key.
	err := tx.From(&rows).Where("connection_id IN (?)", bun.List(who)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read duplicate keys: %w", err)
	}
	held := map[string][]int64{}
	for _, row := range rows {
		held[row.ConnectionID] = append(held[row.ConnectionID], row.Key)
	}
	var changed []*Connection
	who = who[:0]
	for _, c := range people {
		slices.Sort(held[c.ID])
		if !slices.Equal(held[c.ID], duplicateKeys(c)) {
			changed, who = append(changed, c), append(who, c.ID)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := tx.Delete(ctx, (*DuplicateKey)(nil), "connection_id IN (?)", bun.List(who)); err != nil {
		return fmt.Errorf("replace duplicate keys: %w", err)
	}
	return insertDuplicateKeys(ctx, tx, changed)
}

// FindDuplicates returns the pairs of records that may be one person, the highest score first,
// and whether there are more. It leaves out pairs that the member marked as different people.
// If query.MinScore is above weightName, it reads only people who share a key with another
// person. Otherwise it reads the whole network, since many people share a common name.
func FindDuplicates(ctx context.Context, q db.Reader, query Query) (pairs []Pair, more bool, err error) {
	var people []Candidate
	switch {
	case query.MinScore <= weightName:
		people, err = ListDuplicateCandidates(ctx, q)
	case query.ConnectionID != "":
		people, err = listCandidates(ctx, q, `SELECT o.connection_id FROM duplicate_keys k CROSS JOIN duplicate_keys o
WHERE k.tenant_id = ? AND k.connection_id = ? AND k.shared AND o.tenant_id = k.tenant_id AND o.key = k.key`, q.TenantID(), query.ConnectionID)
	default:
		people, err = listCandidates(ctx, q, "SELECT connection_id FROM duplicate_keys WHERE tenant_id = ? AND shared", q.TenantID())
	}
	if err != nil {
		return nil, false, err
	}
	if query.distinct, err = distinctPairs(ctx, q, query.ConnectionID); err != nil {
		return nil, false, err
	}
	pairs, more = Find(people, query)
	return pairs, more, nil
}

// ListDuplicateCandidates returns, for everyone who is not archived, the data that
// distinguishes people from each other. It reads each table once.
func ListDuplicateCandidates(ctx context.Context, q db.Reader) ([]Candidate, error) {
	return listCandidates(ctx, q, "")
}

// listCandidates returns the data of the people whose ids the statement selection returns, or of
// everyone if it is empty.
func listCandidates(ctx context.Context, q db.Reader, selection string, args ...any) ([]Candidate, error) {
	among := func(s *bun.SelectQuery, column string) *bun.SelectQuery {
		if selection == "" {
			return s
		}
		return s.Where("?TableAlias.? IN (?)", bun.Ident(column), bun.SafeQuery(selection, args...))
	}
	var rows []Connection
	err := among(q.From(&rows).Column("id", "name", "nickname", "bio", "met_on", "last_interaction_at").Where("archived_at IS NULL"), "id").Order("id").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	people := make([]Candidate, len(rows))
	byID := make(map[string]*Candidate, len(rows))
	for i, c := range rows {
		people[i] = Candidate{ID: c.ID, Name: c.Name, Nickname: c.Nickname}
		for _, known := range []bool{c.Bio != "", c.MetOn != "", !c.LastInteractionAt.IsZero()} {
			if known {
				people[i].Values++
			}
		}
		byID[c.ID] = &people[i]
	}
	var handles []Handle
	if err := among(q.From(&handles), "connection_id").Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	for _, h := range handles {
		if p := byID[h.ConnectionID]; p != nil {
			p.Handles = append(p.Handles, h)
			p.Values++
		}
	}
	var birthdays []ImportantDate
	if err := among(q.From(&birthdays).Where("kind = ?", DateBirthday), "connection_id").Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	for _, d := range birthdays {
		if p := byID[d.ConnectionID]; p != nil {
			p.Birthdays = append(p.Birthdays, d)
		}
	}
	var positionsFound []Position
	if err := among(Positions(q, &positionsFound), "connection_id").Scan(ctx); err != nil {
		return nil, err
	}
	for _, held := range positionsFound {
		if p := byID[held.ConnectionID]; p != nil {
			p.addPosition(held)
		}
	}
	return people, nil
}

func (p *Candidate) addPosition(held Position) {
	p.Values++
	if held.Current && p.Headline == "" {
		p.Headline = held.Headline()
	}
	if held.Current && held.Organization != "" {
		p.Organizations = append(p.Organizations, held.Organization)
	}
}

// DistinctPair is two records that the member marked as different people, and its database row.
// FindDuplicates leaves the pair out.
type DistinctPair struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	// FirstID is the lower one of the two ids.
	FirstID  string `json:"first_id"`
	SecondID string `json:"second_id"`
	// SaidBy is the name of the credential that marked them; empty if the member did so on a page.
	SaidBy    string    `json:"said_by"`
	CreatedAt time.Time `json:"created_at"`
}

// PairOf returns two ids, the lower one first.
func PairOf(one, other string) [2]string { return [2]string{min(one, other), max(one, other)} }

// NewDistinctPair returns a pair without an id. Its credential and its time are those of w.
func NewDistinctPair(w *db.Tx, one, other string) DistinctPair {
	pair := PairOf(one, other)
	return DistinctPair{TenantID: w.TenantID(), FirstID: pair[0], SecondID: pair[1], SaidBy: w.Actor().CredentialName, CreatedAt: w.Now()}
}

// Distinguish records that two people are not the same, and returns the id of the change; empty
// if that was recorded before. It fails with fault.Invalid if both are one person, with
// fault.NotFound if one does not exist, and with fault.Conflict if one is archived.
func Distinguish(ctx context.Context, w *db.Tx, one, other string) (string, error) {
	if one == other {
		return "", fault.New(fault.Invalid, "name two people")
	}
	first, err := live(ctx, w, one)
	if err != nil {
		return "", err
	}
	second, err := live(ctx, w, other)
	if err != nil {
		return "", err
	}
	pair := NewDistinctPair(w, one, other)
	if held, err := findDistinctPair(ctx, w, &pair); err != nil || held != "" {
		return "", err
	}
	if err := insertDistinctPair(ctx, w, &pair); err != nil {
		return "", err
	}
	return history.Record(ctx, w, history.One("Said that "+first.Name+" and "+second.Name+" are not the same", history.DistinctPair, pair.ID, nil, pair))
}

// ListDistinctPairs returns the pairs that one of the people is in; all pairs if no people are
// named.
func ListDistinctPairs(ctx context.Context, q db.Reader, people ...string) ([]DistinctPair, error) {
	var rows []DistinctPair
	query := q.From(&rows)
	if len(people) > 0 {
		query = query.Where("first_id IN (?) OR second_id IN (?)", bun.List(people), bun.List(people))
	}
	err := query.Scan(ctx)
	return rows, err
}

// distinctPairs returns the pairs of a person, or all pairs if the id is empty.
func distinctPairs(ctx context.Context, q db.Reader, connectionID string) (map[[2]string]bool, error) {
	var of []string
	if connectionID != "" {
		of = []string{connectionID}
	}
	rows, err := ListDistinctPairs(ctx, q, of...)
	pairs := make(map[[2]string]bool, len(rows))
	for _, row := range rows {
		pairs[PairOf(row.FirstID, row.SecondID)] = true
	}
	return pairs, err
}

// findDistinctPair returns the id of another row for the same two people; empty if there is none.
func findDistinctPair(ctx context.Context, tx *db.Tx, pair *DistinctPair) (string, error) {
	return tx.FirstID(ctx, "SELECT id FROM distinct_pairs WHERE tenant_id = ? AND first_id = ? AND second_id = ? AND id <> ?",
		tx.TenantID(), pair.FirstID, pair.SecondID, pair.ID)
}

// insertDistinctPair inserts a pair and sets its id unless it has one.
func insertDistinctPair(ctx context.Context, tx *db.Tx, pair *DistinctPair) error {
	pair.TenantID = tx.TenantID()
	id.Fill(&pair.ID, id.DistinctPair)
	if _, err := tx.NewInsert().Model(pair).Exec(ctx); err != nil {
		return fmt.Errorf("insert distinct pair: %w", err)
	}
	return nil
}

// putDistinctPair sets a pair of people who are not the same to a state; nil removes it.
func putDistinctPair(ctx context.Context, tx *db.Tx, pairID string, row *DistinctPair) error {
	if row == nil {
		return tx.Delete(ctx, (*DistinctPair)(nil), "id = ?", pairID)
	}
	if err := NeedConnections(ctx, tx, row.FirstID, row.SecondID); err != nil {
		return err
	}
	row.ID = pairID
	same, err := findDistinctPair(ctx, tx, row)
	if err != nil {
		return err
	}
	if same != "" {
		return fault.New(fault.Conflict, "%s says the same now", same)
	}
	if err := tx.Delete(ctx, (*DistinctPair)(nil), "id = ?", pairID); err != nil {
		return err
	}
	return insertDistinctPair(ctx, tx, row)
}

// RestoreDistinctPair returns the restorer of pairs of people who are not the same.
func RestoreDistinctPair(tx *db.Tx) history.Restorer { return history.Row(tx, putDistinctPair) }
