package people

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

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
